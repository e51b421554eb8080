"""Certificates of real quotes: checked against the chain at their block, refused when anything differs."""

import dataclasses
import random
from dataclasses import replace

import pytest
from quoteway import NATIVE, Block, Capability, CertifiedSwap, RpcError, SwapRequest, Token, UpstreamError
from quoteway.models import RoutingLimits
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.verifying import verify_certificate
from test_uniswap_splits import patience, splitting, until_warm  # noqa: F401 - patience is a fixture

ACCOUNT = ACCOUNTS[5].address
OTHER = "0x3333333333333333333333333333333333333333"
SUBJECTS = ["block", "pools", "states", "bound", "route", "gap"]


@pytest.fixture
def uniswap_section():
    return {"solver_processes": 1}


@pytest.fixture
def request_of(fresh_devnet):
    usdc = fresh_devnet.chains["devnet"].token("USDC")

    def make(amount, **members):
        sold, bought = Token(31337, NATIVE, 18, "ETH"), Token(31337, usdc.address, usdc.decimals, "USDC")
        return SwapRequest(
            31337, 31337, sold, bought, amount, ACCOUNT, ACCOUNT, 50, **({"certificate": True} | members)
        )

    return make


def certified(quote):
    request_in, request_out = quote.inputs[0], quote.outputs[0]
    return CertifiedSwap(
        31337,
        request_in.token.address,
        request_out.token.address,
        request_in.amount,
        request_out.amount,
        quote.block,
        quote.route_legs,
        quote.optimality,
        bought=None if request_in.amount_max is None else request_out.amount_min,
    )


def provider_of(gateway):
    (entry,) = (e for e in gateway.registry.providers if e.provider.capability is Capability.SWAP
                and e.provider.id == "uniswap")  # fmt: skip
    return entry.provider


async def quoted(gateway, request):
    await until_warm(gateway)
    return await gateway.quoting.quote(Capability.SWAP, request)


async def test_a_certificate_is_verified_from_the_chain_also_when_the_chain_has_moved_on(
    gateway, fresh_devnet, request_of
):
    answer = await quoted(gateway, request_of(500 * 10**18))
    swap = certified(answer.quote)
    assert len(swap.optimality.certificate.pools) == swap.optimality.pools
    assert len(swap.route_legs) > 1
    action = await gateway.building.action(gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token))
    assert not (await execute(fresh_devnet, action)).reverted
    checks = await provider_of(gateway).verify(swap)
    assert [check.subject for check in checks] == SUBJECTS
    assert [check for check in checks if not check.holds] == []


async def test_the_token_keeps_no_certificate_and_without_the_member_there_is_none(gateway, request_of):
    with_one = await quoted(gateway, request_of(10**18))
    without = await quoted(gateway, request_of(10**18, certificate=False))
    assert with_one.quote.optimality.certificate is not None
    assert without.quote.optimality.certificate is None
    read = gateway.quote_tokens.open(Capability.SWAP, with_one.sealed.token)
    assert not read.request.certificate
    certificate = with_one.quote.optimality.certificate
    assert not any(pool.digest in repr(read) for pool in certificate.pools)
    assert "certificate_unavailable" not in [notice.code for notice in with_one.sealed.warnings]


async def test_a_quote_without_a_solver_says_that_it_has_no_certificate(gateway, request_of):
    splitting(gateway).solvers.count = 0
    answer = await gateway.quoting.quote(Capability.SWAP, request_of(10**18))
    assert answer.quote.optimality is None
    assert "certificate_unavailable" in [notice.code for notice in answer.sealed.warnings]


async def test_a_limited_route_is_certified_over_the_pools_that_it_may_use(gateway, request_of):
    limits = RoutingLimits(protocols=("uniswap-v3",))
    swap = certified((await quoted(gateway, request_of(50 * 10**18, routing=limits))).quote)
    assert {pool.protocol for pool in swap.optimality.certificate.pools} == {"uniswap-v3"}
    assert all(check.holds for check in await provider_of(gateway).verify(swap))


def corruptions(swap):
    """Every member of the claim, changed so that it claims something else."""
    told, certificate = swap.optimality, swap.optimality.certificate

    def claim(**members):
        return replace(swap, optimality=replace(told, **members))

    def proof(**members):
        return claim(certificate=replace(certificate, **members))

    yield "bound up", claim(bound=told.bound + 1)
    yield "bound down", claim(bound=told.bound - 1)
    yield "gap up", claim(gap_bps=told.gap_bps + 1)
    yield "gap down", claim(gap_bps=told.gap_bps / 2 - 0.001)
    yield "pools", claim(pools=told.pools + 1)
    yield "families", claim(families=told.families[1:])
    yield "block of the bound", claim(block=replace(told.block, number=told.block.number - 1))
    yield "no certificate", claim(certificate=None)
    yield "block number", replace(swap, block=replace(swap.block, number=swap.block.number - 1))
    yield "amount in up", replace(swap, amount_in=swap.amount_in + 1)
    yield "amount in down", replace(swap, amount_in=swap.amount_in - 1)
    yield "amount out up", replace(swap, amount_out=swap.amount_out + 1)
    yield "amount out down", replace(swap, amount_out=swap.amount_out - 1)
    if swap.bought is not None:
        yield "bought up", replace(swap, bought=swap.bought + 10**6)
        yield "bought down", replace(swap, bought=swap.bought - 10**6)
        yield "not exact", replace(swap, bought=None)
    yield "token in", replace(swap, token_in=swap.token_out)
    yield "token out", replace(swap, token_out=swap.token_in)
    yield "no legs", replace(swap, route_legs=())
    for at, leg in enumerate(swap.route_legs):
        for name, value in (
            ("pool", OTHER),
            ("token_in", OTHER),
            ("token_out", OTHER),
            ("amount_in", leg.amount_in - 1),
            ("amount_out", leg.amount_out + 1),
        ):
            legs = (*swap.route_legs[:at], replace(leg, **{name: value}), *swap.route_legs[at + 1 :])
            yield f"leg {at} {name}", replace(swap, route_legs=legs)
        yield f"leg {at} missing", replace(swap, route_legs=swap.route_legs[:at] + swap.route_legs[at + 1 :])
    for token, price in certificate.prices.items():
        traded = any(token in pool.tokens for pool in certificate.pools)
        if traded:
            yield f"price {token} up", proof(prices={**certificate.prices, token: price * 2})
            yield f"price {token} down", proof(prices={**certificate.prices, token: price // 2})
            missing = {each: value for each, value in certificate.prices.items() if each != token}
            yield f"price {token} missing", proof(prices=missing)
    for at, pool in enumerate(certificate.pools):
        rest = certificate.pools[:at], certificate.pools[at + 1 :]
        yield f"pool {at} missing", proof(pools=rest[0] + rest[1])
        twice = (*certificate.pools, pool)
        yield f"pool {at} twice", claim(pools=len(twice), certificate=replace(certificate, pools=twice))
        changed = {
            "protocol": "uniswap-v5",
            "pool": OTHER if len(pool.pool) == 42 else "0x" + "11" * 32,
            "tokens": pool.tokens[::-1],
            "digest": "0x" + "11" * 32,
        }
        for place, number in enumerate(pool.parameters):
            for step in (-1, 1):
                numbers = (*pool.parameters[:place], number + step, *pool.parameters[place + 1 :])
                yield (
                    f"pool {at} parameter {place} {step:+}",
                    proof(pools=(*rest[0], replace(pool, parameters=numbers), *rest[1])),
                )
        yield (
            f"pool {at} parameters",
            proof(pools=(*rest[0], replace(pool, parameters=(*pool.parameters, 1)), *rest[1])),
        )
        for name, value in changed.items():
            yield f"pool {at} {name}", proof(pools=(*rest[0], replace(pool, **{name: value}), *rest[1]))


EXACT_OUT = {"amount_in": 0, "amount_out": 1_000_000 * 10**6 + 1}


async def test_a_certificate_of_an_exact_output_is_verified_from_the_chain(gateway, request_of):
    answer = await quoted(gateway, replace(request_of(1), **EXACT_OUT))
    swap = certified(answer.quote)
    assert swap.bought == EXACT_OUT["amount_out"]
    assert len(swap.route_legs) > 1
    assert swap.optimality.bound <= swap.amount_in
    checks = await provider_of(gateway).verify(swap)
    assert [check.subject for check in checks] == SUBJECTS
    assert [check for check in checks if not check.holds] == []


@pytest.mark.slow
@pytest.mark.parametrize("members", [{"amount_in": 500 * 10**18}, EXACT_OUT], ids=["exactIn", "exactOut"])
async def test_a_certificate_with_any_member_changed_is_refused(gateway, request_of, members):
    swap = certified((await quoted(gateway, replace(request_of(1), **members))).quote)
    provider, seen = provider_of(gateway), 0
    assert {field.name for field in dataclasses.fields(swap.optimality.certificate)} == {"prices", "pools"}
    for name, corrupted in corruptions(swap):
        checks = await provider.verify(corrupted)
        assert not all(check.holds for check in checks), name
        seen += 1
    assert seen > 200


class Pruned:
    """A node that has the headers, and has deleted the states."""

    def __init__(self, chain):
        self.network = chain.network
        self.header = chain.header

    async def call_many(self, reads, *, block=None):
        raise RpcError(-32000, "missing trie node 5c0b (path )")

    async def deployless(self, creation_code, *, block=None, gas=None):
        raise RpcError(-32000, "missing trie node 5c0b (path )")


async def test_a_node_that_has_deleted_the_state_is_an_error_that_names_the_remedy(gateway, request_of):
    for protocol in ("uniswap-v2", "uniswap-v3"):
        limits = RoutingLimits(protocols=(protocol,))
        swap = certified((await quoted(gateway, request_of(10**18, routing=limits))).quote)
        chain = Pruned(gateway.runtime.chain(31337))
        with pytest.raises(UpstreamError, match="archive node"):
            await verify_certificate(chain, provider_of(gateway).own._deployments[31337], swap)


@pytest.mark.slow
async def test_random_orders_of_all_sizes_are_certified_and_verified(gateway, fresh_devnet, request_of):
    manifest, rng, splits = fresh_devnet.chains["devnet"], random.Random(5), 0
    usd = {"ETH": 3500, "WETH": 3500, "USDC": 1, "USDT": 1, "DAI": 1, "WBTC": 90_000, "LINK": 15, "UNI": 8}

    def token(symbol):
        if symbol == "ETH":
            return Token(31337, NATIVE, 18, "ETH")
        row = manifest.token(symbol)
        return Token(31337, row.address, row.decimals, symbol)

    for _ in range(30):
        sold, bought = rng.sample(sorted(usd), 2)
        if {sold, bought} == {"ETH", "WETH"}:
            continue
        asked = replace(request_of(1), token_in=token(sold), token_out=token(bought))
        amount = max(int(10 ** rng.uniform(-1, 6.5) / usd[sold] * 10**asked.token_in.decimals), 1)
        quote = (await quoted(gateway, replace(asked, amount_in=amount))).quote
        assert quote.optimality is not None
        assert quote.optimality.certificate is not None, (sold, bought, amount)
        checks = await provider_of(gateway).verify(certified(quote))
        assert [check for check in checks if not check.holds] == [], (sold, bought, amount)
        splits += len(quote.route) > 1
    assert splits > 5


async def test_a_block_that_the_node_does_not_have_is_an_error_that_names_the_remedy(gateway, request_of):
    swap = certified((await quoted(gateway, request_of(10**18))).quote)
    gone = replace(swap, block=Block(swap.block.number, "0x" + "ab" * 32, swap.block.timestamp))
    chain = gateway.runtime.chain(31337)
    with pytest.raises(UpstreamError, match="archive node"):
        await verify_certificate(chain, provider_of(gateway).own._deployments[31337], gone)
