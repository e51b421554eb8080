"""Attack: a quote that the transactions do not pay, on the very state that it was made for.

A row for a fork of Uniswap v2 states another fee than 0.3 %, and names the router of Uniswap, which always
computes with 0.3 %. The quote is some basis points too high, and its minimum is met all the same.
"""

from direct_client import USER, client_of
from quoteway_devnet.networks import devnet_networks


def fork(devnet, fee):
    """The devnet's v2 pairs as those of a fork with this fee."""
    network = next(n for n in devnet_networks(devnet.ports) if n.slug == "devnet")
    row = {
        k: v for k, v in network.deployments["uniswap"][0].items() if k not in ("v3", "v4", "v4_known_pools")
    }
    row |= {"protocol": "somefork", "network": "devnet", "v2": {**row["v2"], "fee": fee}}
    return {"uniswap": {"deployments": [row]}}


async def swap(client):
    """The answer to the quote, or to the action when the quote is given."""
    body = {"network": "devnet", "fromToken": client.token("DAI"), "toToken": client.token("WETH")}
    quote = await client.api.post("/v2/swaps/quote", body | {"amount": str(10**15), "address": USER})
    if quote.status != 200:
        return quote
    return await client.api.post(f"/v2/swaps/{quote.body['quoteId']}/action")


async def outcomes(client):
    async with client.api.session.get(client.api.url + "/metrics") as answer:
        return [
            line for line in (await answer.text()).splitlines() if "total{" in line and 'method="run"' in line
        ]


async def test_a_fork_with_another_fee_than_its_router_is_refused_and_named(fresh_devnet):
    async with client_of(fresh_devnet, 0.0, settings=fork(fresh_devnet, [9999, 10000])) as client:
        error = (await swap(client)).refused(502, "upstream_error", "quote_mismatch")
        assert "provider uniswap" in error["message"]
        assert error["details"]["retryable"] is False
        (counted,) = await outcomes(client)
        assert 'outcome="quote_mismatch",provider="uniswap"' in counted


async def test_a_fork_with_its_routers_fee_is_paid_to_the_unit(fresh_devnet):
    async with client_of(fresh_devnet, 0.0, settings=fork(fresh_devnet, [997, 1000])) as client:
        answer = await swap(client)
        assert (answer.status, answer.body["simulation"]["status"]) == (201, "success")
        (counted,) = await outcomes(client)
        assert 'outcome="success",provider="uniswap"' in counted
