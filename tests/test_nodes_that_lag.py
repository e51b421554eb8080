"""Callers whose own node is ahead name its block or a transaction: no answer is of an older block.

The gateway's node lags: it answers with an old head, and without the new receipt, for a number of requests.
"""

import aiohttp
import pytest
from quoteway.evm import erc20, head, permit2

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import OTHER, USER, LaggingNode, client_of, kinds  # noqa: E402

UNKNOWN = "0x" + "5e" * 32
READS = 4
"""How often the lagging node is asked before it is up to date: more than once, within the time to wait."""


@pytest.fixture
async def client(fresh_devnet, monkeypatch):
    """The wait is long enough for a busy machine; ``short_wait`` is the real one, for what never comes."""
    monkeypatch.setattr(head, "_MAX_WAIT_S", 30.0)
    with fresh_devnet.rpc() as rpc:
        # anvil forgets the state of the block that tests go back to, once it has kept 128 newer ones.
        rpc("evm_mine")
    node = LaggingNode(fresh_devnet.urls["devnet"])
    # The head is polled rarely, so that what tests count is what requests read.
    async with client_of(fresh_devnet, 0.0, node=node, block_time_s=60.0, head_poll_s=60.0) as client:
        await client.api.gateway.lists.close()
        yield client


@pytest.fixture
def short_wait(client, monkeypatch):
    monkeypatch.setattr(head, "_MAX_WAIT_S", 3.0)


async def own_transaction(client, amount=1):
    """The hash of a mined transaction that the gateway's node may not show yet, the block before, its own."""
    with client.devnet.rpc() as rpc:
        before = int(rpc("eth_blockNumber"), 16)
        data = "0x" + erc20.APPROVE.encode([OTHER, amount]).hex()
        sent = {"to": client.token("USDC"), "data": data, "from": USER, "gas": hex(100_000)}
        tx = rpc("eth_sendTransaction", sent)
        while (receipt := rpc("eth_getTransactionReceipt", tx)) is None:
            pass
    return tx, before, int(receipt["blockNumber"], 16)


def newest(client):
    with client.devnet.rpc() as rpc:
        return int(rpc("eth_blockNumber"), 16)


def number(answer):
    return int(answer["block"]["number"])


async def test_without_them_the_answer_is_of_the_old_block(client):
    _, before, mined = await own_transaction(client)
    client.node.lag(before)
    assert number(await client.quote_swap()) == before < mined


@pytest.mark.parametrize("named", ["minBlock", "afterTransaction"])
async def test_a_quote_waits_for_what_the_caller_has_seen(client, named):
    tx, before, mined = await own_transaction(client)
    client.node.lag(before, READS)
    seen = {"minBlock": mined} if named == "minBlock" else {"afterTransaction": tx}
    assert number(await client.quote_swap(**seen)) >= mined
    assert client.node.held is None


async def test_a_quote_asks_no_more_of_a_node_that_is_up_to_date(client):
    await client.quote_swap()
    asked = []
    for _ in range(5):  # prices and lists, which are read in the background, may read a head of their own
        _, _, mined = await own_transaction(client)
        before = client.node.asked.copy()
        assert number(await client.quote_swap(minBlock=mined)) >= mined
        asked.append((client.node.asked - before)["eth_getBlockByNumber"])
    assert min(asked) == 1


async def test_a_quote_is_no_older_than_the_one_before(client):
    """Another node behind the same address lags: nobody has to name the block that an answer was of."""
    _, before, mined = await own_transaction(client)
    assert number(await client.quote_swap()) >= mined
    client.node.lag(before, READS)
    assert number(await client.quote_swap()) >= mined
    assert client.node.held is None


@pytest.mark.slow
async def test_a_quote_of_nodes_that_went_back_blames_no_provider(client, short_wait):
    quote = await client.quote_swap()
    client.node.lag(number(quote) - 1)
    body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    answer = await client.api.post("/v2/swaps/quote", body | {"amount": "1000000", "address": USER})
    error = answer.refused(502, "upstream_error", "behind")
    assert error["details"]["retryable"] is True
    assert answer.headers["Retry-After"] == "3"
    assert "attempts" not in error["details"]
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    answer.refused(502, "upstream_error", "behind")


async def test_a_quote_is_of_the_chain_that_replaced_the_old_one(client):
    client.devnet.diverge()
    await own_transaction(client)
    before = await client.quote_swap()
    await own_transaction(client, 2)
    assert number(await client.quote_swap()) > number(before)
    with client.devnet.rpc() as rpc:
        rpc("anvil_reorg", 2, [])
        newest = rpc("eth_getBlockByNumber", "latest", False)
    after = await client.quote_swap()
    assert (after["block"]["hash"], number(after)) == (newest["hash"], int(newest["number"], 16))
    assert newest["hash"] != before["block"]["hash"]


async def test_all_reads_of_an_action_are_of_one_block_hash(client):
    quote = await client.quote_swap(amount=10**6, approvalMode="permit2-signature")
    await own_transaction(client)
    client.node.bodies.clear()
    action = await client.act(quote)
    block = {"blockHash": action["simulation"]["block"]["hash"]}
    own = [body for body in client.node.bodies if body["method"] in ("eth_getCode", "eth_simulateV1")]
    assert {body["method"] for body in own} == {"eth_getCode", "eth_simulateV1"}
    assert [body["params"][1] for body in own] == [block] * len(own)
    # Prices are read at other blocks meanwhile, in the background.
    at = [body["params"][1] for body in client.node.bodies if body["method"] == "eth_call"]
    assert block in at
    assert "latest" not in at


@pytest.mark.slow
@pytest.mark.parametrize("named", ["minBlock", "afterTransaction"])
async def test_a_node_that_stays_behind_is_named_so(client, short_wait, named):
    tx, before, mined = await own_transaction(client)
    client.node.lag(before)
    body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    body |= {"amount": "1000000", "address": USER}
    body |= {"minBlock": mined} if named == "minBlock" else {"afterTransaction": tx}
    answer = await client.api.post("/v2/swaps/quote", body)
    error = answer.refused(502, "upstream_error", "behind")
    assert error["details"]["retryable"] is True
    assert answer.headers["Retry-After"] == "3"
    assert "attempts" not in error["details"], "no provider is at fault"
    await client.api.check("createSwapQuote", answer)


@pytest.mark.slow
async def test_a_transaction_that_nobody_mines_is_behind(client, short_wait):
    path = f"/v2/portfolio/balances?wallet={USER}&network=devnet&afterTransaction={UNKNOWN}"
    (await client.api.get(path)).refused(502, "upstream_error", "behind")


async def test_an_action_waits_for_the_approval_that_is_mined(client):
    quote = await client.quote_swap(amount=10**6)
    path = f"/v2/swaps/{quote['quoteId']}/action"
    action = await client.act(quote)
    assert kinds(action)[0] == "approval"
    before = newest(client)
    mined = await client.send(action["transactions"][0])
    client.node.lag(before)
    assert "approval" in kinds(await client.act(quote)), "the old block does not have it"
    client.node.lag(before, READS)
    assert "approval" not in kinds(await client.ask(path, {"minBlock": mined}))
    assert quote["approvals"][0]["spender"] == permit2.ADDRESS


@pytest.mark.slow
async def test_a_deposit_is_redeemed_at_once(client):
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    path = f"/v2/vaults/31337:{vault.address}"
    body = {"action": "deposit", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    action = await client.ask(f"{path}/action", body)
    before = newest(client)
    mined = await client.send(*action["transactions"])
    redeem = body | {"action": "redeem", "amount": "max"}
    client.node.lag(before)
    (await client.api.post(f"{path}/quote", redeem)).refused(422, "validation_error")
    client.node.lag(before, READS)
    quote = await client.ask(f"{path}/quote", redeem | {"minBlock": mined})
    client.node.lag(before, READS)
    made = await client.ask(f"{path}/action", redeem | {"minBlock": mined, "quoteId": quote["quoteId"]})
    redeemed = await client.send(*made["transactions"])
    client.node.lag(mined, READS)
    positions = f"/v2/portfolio/positions?wallet={USER}&network=devnet&minBlock={redeemed}"
    found = (await client.api.get(positions)).body
    assert [row for row in found["data"] if row["vaultId"] == f"31337:{vault.address}"] == []


async def test_balances_are_of_ones_own_block(client):
    tx, before, mined = await own_transaction(client)
    for seen in (f"minBlock={mined}", f"afterTransaction={tx}"):
        client.node.lag(before, READS)
        answer = await client.api.get(f"/v2/portfolio/balances?wallet={USER}&network=devnet&{seen}")
        assert answer.status == 200, answer.body
        (asked,) = answer.body["asOf"]
        assert int(asked["block"]) >= mined
        await client.api.check("getPortfolioBalances", answer)


@pytest.mark.parametrize("what", ["balances", "positions"])
async def test_a_block_is_of_one_network(client, what):
    path = f"/v2/portfolio/{what}?wallet={USER}&minBlock=5"
    (await client.api.get(path)).refused(422, "validation_error", "conflict", "minBlock")


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("minBlock", "5", "invalid_format"),
        ("minBlock", -1, "out_of_range"),
        ("minBlock", True, "invalid_format"),
        ("minBlock", 2**53, "out_of_range"),
        ("afterTransaction", "0x12", "out_of_range"),
        ("afterTransaction", 5, "invalid_format"),
    ],
)
async def test_wrong_members_are_named_in_quotes_and_actions(client, member, value, reason):
    quote = await client.quote_swap()
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action", {member: value})
    answer.refused(422, "validation_error", reason, member)


async def test_an_action_takes_an_empty_body_of_any_type(client):
    quote = await client.quote_swap()
    url = f"{client.api.url}/v2/swaps/{quote['quoteId']}/action"
    async with aiohttp.ClientSession() as session:
        for data, kind in [(b"", None), (b"", "text/plain"), (b"{}", "application/x-www-form-urlencoded")]:
            headers = {} if kind is None else {"Content-Type": kind}
            async with session.post(url, data=data, headers=headers) as answer:
                assert answer.status == 201, await answer.text()
        async with session.post(url, data=b"[1") as answer:
            assert answer.status == 400
