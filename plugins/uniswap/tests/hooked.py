"""Pools of v4 with hooks of ours on the devnet: a counter that sets dynamic fees (``FeeHook``)."""

from dataclasses import replace

from quoteway import NATIVE
from quoteway.evm.abi import encode, function
from quoteway.evm.address import checksum
from quoteway_devnet.transactions import own_init_code
from test_uniswap_created_pools import DONOR, KEY, create_v4, fill, price_of, row_of

FEE_HOOK = checksum("0x00000000000000000000000000000000fee000c0")
"""The last bits grant beforeSwap and afterSwap (v4-core, Hooks.sol)."""
DYNAMIC = 0x800000
SET_FEE = function(f"setFee({KEY}, uint24 fee)")
SET_FEE_OF_SWAPS = function("setFeeOfSwaps(uint24 fee)")


def hook_of_swaps(devnet):
    """The manifest's hook, which permits every swap of its pool."""
    return next(pool for pool in devnet.chains["devnet"].pools if pool.hooks != NATIVE)


def put_fee_hook(rpc, manager):
    """Puts the hook at its address."""
    init = own_init_code("FeeHook") + encode(["address"], [manager])
    code = rpc("eth_call", {"data": "0x" + init.hex()}, "latest")
    rpc("anvil_setCode", FEE_HOOK, code)


async def dynamic_pool(harness, pair, fee, amount, spacing=10):
    """Creates a deep pool with a dynamic fee and returns its row. ``amount`` is of its first token."""
    put_fee_hook(harness.rpc, harness.manifest.contracts["PoolManager"])
    like = row_of(harness, "uniswap-v4", *pair)
    row = await create_v4(harness, like, DYNAMIC, spacing, await price_of(harness, like), FEE_HOOK)
    harness.rpc("evm_mine")
    set_fee(harness, row, fee)
    await fill(harness, row, amount)
    return row


def set_fee(harness, row, fee):
    key = (row.token0, row.token1, row.fee, row.tick_spacing, row.hooks)
    harness.send(DONOR, FEE_HOOK, SET_FEE.encode([key, fee]))
    harness.rpc("evm_mine")


def set_fee_of_swaps(harness, fee):
    harness.send(DONOR, FEE_HOOK, SET_FEE_OF_SWAPS.encode([fee]))
    harness.rpc("evm_mine")


def swaps_counted(harness):
    """How many swaps the hook has seen: their beginnings and their ends."""
    calls = [function("begun()"), function("ended()")]
    return tuple(
        int(harness.rpc("eth_call", {"to": FEE_HOOK, "data": "0x" + each.encode([]).hex()}, "latest"), 16)
        for each in calls
    )


def through(quote):
    return {hop.pool for path in quote.route for hop in path.hops}


def limited(harness, sold, got, amount, *pools, **more):
    """A request whose route may use these pools only."""
    request = harness.request(sold, got, amount, **more)
    ids = tuple(f"{request.chain_id}:{pool}" for pool in pools)
    return replace(request, routing=replace(request.routing, pools=ids))
