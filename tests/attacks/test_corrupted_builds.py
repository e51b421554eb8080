"""Attack: a plugin changes one thing in an honest quote or build, so that it still looks well-formed.

The changed answer goes through the core over the devnet. What the core then accepts is executed, also after
the price has moved and after the deadline, and compared with what the action says. ``python -m bench
corruptions`` runs 100,000 cases.
"""

from dataclasses import replace

import pytest
import pytest_asyncio
from quoteway import Build, UpstreamError

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "lifi", "erc4626", "managedvault"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from corrupting.calldata import Leaf, tree_of, walk  # noqa: E402
from corrupting.cases import CONTROL_EVERY, Cases, at_block  # noqa: E402
from corrupting.chains import CHAIN_ID, FRIEND, THIEF, running  # noqa: E402
from corrupting.changes import elsewhere  # noqa: E402
from corrupting.material import gather  # noqa: E402
from corrupting.values import placed  # noqa: E402

pytestmark = pytest.mark.asyncio(loop_scope="module")
CASES, SEED = 200, 20_261_122


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cases(devnet):
    """Honest answers of every provider, and what runs changed ones."""
    with devnet.restored():
        async with running(devnet) as world:
            yield Cases(world, await gather(world), SEED)


@pytest.mark.slow
async def test_what_the_core_accepts_does_what_it_says(cases):
    report = await cases.run(CASES)
    assert (report.cases, report.controls) == (CASES, CASES // CONTROL_EVERY)
    assert not report.refused_controls
    assert not report.harmful
    assert not report.crashed
    assert report.well_formed >= CASES // 2
    assert report.refused.total() > CASES // 2


def argument(name, change, nth=0):
    """Changes the ``nth`` argument of that name, and encodes the call again."""

    def changed(build):
        (step, *others) = build.steps
        tree = tree_of(step.data)
        leaf = [each for each in walk(tree) if isinstance(each, Leaf) and name in (each.name, each.type)][nth]
        leaf.value = change(leaf.value)
        return replace(build, steps=(replace(step, data=tree.encoded()), *others))

    return changed


def member(*path, to):
    return lambda build: placed(build, path, to)


def twice(build):
    return replace(build, steps=build.steps * 2)


def predicted_elsewhere(build):
    return replace(build, terms=elsewhere(build.terms, bytes(32)))


KNOWN = (
    # the material, the change, how the core refuses it
    ("swap USDC ETH", member("inputs", 0, "amount", to=1), "states another amount"),
    ("swap USDC ETH", member("outputs", 0, "amount", to=10**30), "states another amount"),
    ("swap ETH USDT", argument("recipient", lambda old: THIEF), "more than the router holds"),
    (
        "swap USDC WETH signed",
        member("signatures", 0, "typed_data", "message", "details", "nonce", to="1"),
        "not the permit",
    ),
    ("swap USDC WETH signed", argument("signature", lambda old: bytes(97)), "not the permit"),
    ("swap USDC ETH with a fee", argument("bips", lambda old: old + 1), "a fee of 26 bps, not of 25"),
    ("swap USDC ETH with a fee", argument("bips", lambda old: 0), "a portion of 0 bps"),
    ("swap USDC ETH with a fee", argument("amountMin", lambda old: old - 1, 1), "less than quoted"),
    ("across USDC USDC", member("terms", "origin_chain_id", to=31338), "other chains"),
    ("lifi transfer USDC", member("terms", "destination_chain_id", to=1), "other chains"),
    ("erc4626 withdraw", member("outputs", 0, "amount", to=10**12), "states another amount"),
    ("erc4626 deposit", member("outputs", 0, "amount", to=10**30), "states"),
    ("erc4626 mint", member("inputs", 0, "amount_min", to=10**12), "another minimum"),
    ("v2 add", member("outputs", 0, "amount_min", to=10**18), "states another amount"),
    ("v2 add", argument("amountAMin", lambda old: 1), "less than the quoted minimum"),
    ("v3 add", argument("int24", lambda old: old // 2 // 60 * 60), "another tick_lower"),
    ("v4 add", argument("tickUpper", lambda old: old // 2 // 60 * 60), "another tick_upper"),
    ("v3 add in a range", argument("uint24", lambda old: 3000), "does not use the pool"),
    ("v3 remove", argument("uint128", lambda old: 2 * old), "remove more than quoted"),
    ("v4 remove", argument("liquidity", lambda old: 2 * old), "remove more than quoted"),
    ("v4 remove", twice, "twice"),
    ("v4 collect", member("outputs", 1, "amount_min", to=10**9), "states another amount"),
    ("manage harvest", twice, "twice"),
    ("manage setBot", argument("bot", lambda old: THIEF), "another bot"),
    ("manage rebalance", argument("assets", lambda old: old // 2), "another amount"),
    ("manage rebalance", argument("to", lambda old: THIEF), "another strategy"),
    ("deploy", predicted_elsewhere, "another address than predicted"),
    ("deploy", member("terms", "bot", to=FRIEND), "another salt"),
    ("deploy", member("terms", "init_code_hash", to="0x"), "another salt"),
)


@pytest.mark.parametrize(("name", "change", "finding"), KNOWN, ids=[f"{k[0]}: {k[2]}" for k in KNOWN])
async def test_changes_that_passed_once(cases, name, change, finding):
    material = next(each for each in cases.material if each.name == name)
    part = material.parts[0]
    changed = change(part.build)
    assert isinstance(changed, Build)
    assert changed != part.build
    with pytest.raises(UpstreamError) as refusal:
        await cases.build(material, part, material.sealed, changed)
    assert finding in refusal.value.message


async def test_the_minimum_of_shares_is_enforced_by_that_of_the_inputs(cases):
    """The quote says so too: ``addLiquidity`` takes no minimum of shares."""
    material = next(each for each in cases.material if each.name == "v2 add")
    part, place = material.parts[0], ("inputs", 0, "amount_min")
    build = argument("amountAMin", lambda old: 1)(placed(part.build, place, 1))
    with pytest.raises(UpstreamError, match="does not enforce the minimum"):
        await cases.build(material, part, placed(material.sealed, place, 1), build)


async def test_a_range_that_the_request_leaves_open_is_the_quoted_one(cases):
    """The action of a quote at a later block, where the amounts need not be the quoted ones."""
    material = next(each for each in cases.material if each.name == "v3 add")
    assert material.request.tick_lower is None
    assert material.sealed.request.tick_lower is not None
    assert await cases.build(material, material.parts[0], material.sealed, material.parts[0].build)
    head = await cases.world.gateway.runtime.chain(CHAIN_ID).head(fresh=True)
    assert material.sealed.block != head
    sealed = at_block(material.sealed, head)
    assert await cases.build(material, material.parts[0], sealed, material.parts[0].build)
