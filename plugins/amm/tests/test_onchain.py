"""Quotes and executed swaps compared with routers, quoters and pools on a devnet.

Amounts range from one base unit to far above a pool's depth, in states made by random positions, trades and
protocol fees. AMM_ONCHAIN_QUOTES sets the quotes per pool and round.
"""

import os
import random

import pytest
from chain_state import MAX_UINT48, MAX_UINT256, MINT_V3, calldata
from eth_abi import decode, encode
from quoteway_amm import (
    MAX_TICK,
    MIN_TICK,
    NATIVE,
    UNISWAP_GAS,
    Graph,
    NoPath,
    best_path_exact_in,
    best_path_exact_out,
    sqrt_ratio_at_tick,
    swap_exact_in,
    swap_exact_out,
    tick_at_sqrt_ratio,
)

QUOTES = int(os.environ.get("AMM_ONCHAIN_QUOTES", "8"))
ROUNDS = 3
NO_HOOKS = "0x" + "00" * 20
POOL_KEY = "(address,address,uint24,int24,address)"


def pools_of(devnet, protocol):
    tax = devnet.chains["devnet"].token("TAX").address
    return [
        pool
        for pool in devnet.chains["devnet"].pools
        if pool.protocol == protocol and pool.hooks == NO_HOOKS and tax not in (pool.token0, pool.token1)
    ]


def random_amount(rng, most):
    """Returns an amount of any size, one that moves prices, or rarely one far above `most`."""
    span = rng.choices([(-len(str(most)), 0), (-4, 0), (0, 9)], [10, 10, 1])[0]
    return min(2**127 - 1, max(1, int(most * 10 ** rng.uniform(*span))))


def balance(chain, token, owner):
    if token == NATIVE:
        return int(chain.batch([("eth_getBalance", [owner, "latest"])])[0], 16)
    return chain.call(token, "balanceOf(address)", owner, returns=["uint256"])[0]


def key_of(pool):
    return pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks


def add_random_positions(chain, rng, pools):
    """Mints narrow, far, adjacent and overlapping positions: crossings, gaps, ticks at word edges."""
    for pool in pools:
        spacing = pool.tick_spacing
        snapshot = chain.snapshot(pool)
        tick = snapshot.tick
        for _ in range(3):
            lower = (tick // spacing + rng.randint(-20, 15)) * spacing
            upper = lower + rng.choice([1, 2, 5, 17, 256]) * spacing
            share = rng.randint(1, 100)
            if pool.protocol == "uniswap-v3":
                mint_v3(chain, pool, lower, upper, share)
            else:
                mint_v4(chain, pool, lower, upper, snapshot.liquidity * share // 1000 + 1)
        chain.ticks.pop(pool.id)


def mint_v3(chain, pool, lower, upper, share_of_depth_permille):
    desired = [
        balance(chain, token, pool.id) * share_of_depth_permille // 1000 + 1
        for token in (pool.token0, pool.token1)
    ]
    position = (pool.token0, pool.token1, pool.fee, lower, upper, *desired, 0, 0, chain.sender, MAX_UINT48)
    chain.send(chain.contracts["NonfungiblePositionManager"], calldata(MINT_V3, position))


def mint_v4(chain, pool, lower, upper, liquidity):
    types = [POOL_KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes"]
    mint = encode(types, [key_of(pool), lower, upper, liquidity, 2**127 - 1, 2**127 - 1, chain.sender, b""])
    settle = encode(["address", "address"], [pool.token0, pool.token1])
    sweep = encode(["address", "address"], [NATIVE, chain.sender])
    native = pool.token0 == NATIVE
    actions = bytes([0x02, 0x0D, 0x14] if native else [0x02, 0x0D])
    plan = encode(["bytes", "bytes[]"], [actions, [mint, settle, sweep] if native else [mint, settle]])
    chain.send(
        chain.contracts["PositionManager"],
        calldata("modifyLiquidities(bytes,uint256)", plan, MAX_UINT48),
        10**22 if native else 0,
    )


def swap_on_chain(chain, pool, zero_for_one, amount_in, limit):
    """Executes an exact input. Returns (in, out, sqrt price, liquidity, tick) of the pool's Swap event."""
    token_in, token_out = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
    if pool.protocol == "uniswap-v3":
        signature = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))"
        order = token_in, token_out, pool.fee, chain.sender, amount_in, 0, limit or 0
        receipt = chain.send(chain.contracts["SwapRouter02"], calldata(signature, order))
        emitter, types = pool.id, ["int256", "int256", "uint160", "uint128", "int24"]
    else:
        swap = encode(
            [f"({POOL_KEY},bool,uint128,uint128,bytes)"], [(key_of(pool), zero_for_one, amount_in, 0, b"")]
        )
        settle = encode(["address", "uint256"], [token_in, MAX_UINT256])
        take = encode(["address", "uint256"], [token_out, 0])
        plan = encode(["bytes", "bytes[]"], [bytes([0x06, 0x0C, 0x0F]), [swap, settle, take]])
        receipt = chain.send(
            chain.contracts["UniversalRouter"],
            calldata("execute(bytes,bytes[],uint256)", bytes([0x10]), [plan], MAX_UINT48),
            amount_in if token_in == NATIVE else 0,
        )
        emitter, types = (
            chain.contracts["PoolManager"],
            ["int128", "int128", "uint160", "uint128", "int24", "uint24"],
        )
    (log,) = [log for log in receipt["logs"] if log["address"] == emitter.lower() and len(log["topics"]) == 3]
    amount0, amount1, price, liquidity, tick = decode(types, bytes.fromhex(log["data"][2:]))[:5]
    if pool.protocol == "uniswap-v4":
        # The PoolManager gives the caller's balance changes, a v3 pool its own.
        amount0, amount1 = -amount0, -amount1
    moved = (amount0, -amount1) if zero_for_one else (amount1, -amount0)
    return *moved, price, liquidity, tick


def trade_at_random(chain, rng, pools, trades):
    """Executes random swaps and compares amounts and new state with `swap_exact_in`."""
    partial = crossed = 0
    for _ in range(trades):
        pool = rng.choice(pools)
        before = chain.snapshot(pool)
        zero_for_one = rng.random() < 0.5
        token_in = pool.token0 if zero_for_one else pool.token1
        holder = chain.contracts["PoolManager"] if pool.protocol == "uniswap-v4" else pool.id
        most = min(balance(chain, token_in, chain.sender) // 20, balance(chain, token_in, holder) // 2 + 1)
        amount_in = max(2, int(most * 10 ** rng.uniform(-3, 0.5)))
        limit = None
        if pool.protocol == "uniswap-v3" and rng.random() < 0.4:
            distance = rng.randint(1, 400) * (-1 if zero_for_one else 1)
            limit = sqrt_ratio_at_tick(min(max(before.tick + distance, MIN_TICK + 1), MAX_TICK - 1))
            if (limit < before.sqrt_price_x96) != zero_for_one:
                continue
        expected = swap_exact_in(before, zero_for_one, amount_in, limit)
        if limit is None and not expected.complete:
            continue
        if expected.amount_out == 0:
            continue
        partial += not expected.complete
        crossed += expected.ticks_crossed
        done = swap_on_chain(chain, pool, zero_for_one, amount_in, limit)
        assert done[:2] == (expected.amount_in, expected.amount_out)
        assert done[2:] == (expected.sqrt_price_x96, expected.liquidity, expected.tick)
        after = chain.snapshot(pool)
        assert (after.sqrt_price_x96, after.liquidity, after.tick) == done[2:]
    return partial, crossed


def compare_quotes_v3(chain, rng, pools, quotes):
    exact_in = "quoteExactInputSingle((address,address,uint256,uint24,uint160))"
    exact_out = "quoteExactOutputSingle((address,address,uint256,uint24,uint160))"
    asked, calls = [], []
    for pool in pools:
        snapshot = chain.snapshot(pool)
        for _ in range(quotes):
            zero_for_one, buys = rng.random() < 0.5, rng.random() < 0.5
            token_in, token_out = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
            most = 3 * balance(chain, token_out if buys else token_in, pool.id)
            amount = random_amount(rng, most)
            asked.append((snapshot, zero_for_one, buys, amount))
            order = token_in, token_out, amount, pool.fee, 0
            calls.append((chain.contracts["QuoterV2"], calldata(exact_out if buys else exact_in, order)))
    for (pool, zero_for_one, buys, amount), answer in zip(
        asked, chain.calls(calls, ["uint256", "uint160", "uint32", "uint256"]), strict=True
    ):
        if buys:
            result = swap_exact_out(pool, zero_for_one, amount)
            quoted = pool.exact_out(zero_for_one, amount)
            amount_answered = result.amount_in
        else:
            result = swap_exact_in(pool, zero_for_one, amount)
            quoted = pool.exact_in(zero_for_one, amount)
            amount_answered = result.amount_out
        context = pool.id, zero_for_one, buys, amount
        if not result.complete:
            assert quoted is None, context
            # The quoter reverts for a partial exact output, but not for a partial exact input.
            if buys:
                assert answer is None, context
                continue
        else:
            assert quoted == (amount_answered, result.ticks_crossed), context
        assert answer is not None, context
        assert (amount_answered, result.sqrt_price_x96) == answer[:2], context
    return len(asked)


def compare_quotes_v4(chain, rng, pools, quotes):
    exact_in = f"quoteExactInputSingle(({POOL_KEY},bool,uint128,bytes))"
    exact_out = f"quoteExactOutputSingle(({POOL_KEY},bool,uint128,bytes))"
    asked, calls = [], []
    for pool in pools:
        snapshot = chain.snapshot(pool)
        for _ in range(quotes):
            zero_for_one, buys = rng.random() < 0.5, rng.random() < 0.5
            token = pool.token0 if zero_for_one != buys else pool.token1
            amount = random_amount(rng, balance(chain, token, chain.contracts["PoolManager"]))
            asked.append((snapshot, zero_for_one, buys, amount))
            order = key_of(pool), zero_for_one, amount, b""
            calls.append((chain.contracts["V4Quoter"], calldata(exact_out if buys else exact_in, order)))
    for (pool, zero_for_one, buys, amount), answer in zip(
        asked, chain.calls(calls, ["uint256", "uint256"]), strict=True
    ):
        quoted = (pool.exact_out if buys else pool.exact_in)(zero_for_one, amount)
        result = (swap_exact_out if buys else swap_exact_in)(pool, zero_for_one, amount)
        context = pool.id, zero_for_one, buys, amount
        assert result.complete == (answer is not None), context
        if answer is None:
            assert quoted is None, context
            continue
        amount_answered = result.amount_in if buys else result.amount_out
        assert (amount_answered, amount_answered) == (answer[0], quoted[0]), context
    return len(asked)


@pytest.mark.slow
def test_v2_router_quotes(devnet, chain):
    rng = random.Random(2)
    pools = pools_of(devnet, "uniswap-v2")
    router = chain.contracts["UniswapV2Router02"]
    for _ in range(ROUNDS):
        asked, calls = [], []
        for pool in pools:
            snapshot = chain.snapshot(pool)
            for _ in range(2 * QUOTES):
                zero_for_one, buys = rng.random() < 0.5, rng.random() < 0.5
                path = [pool.token0, pool.token1] if zero_for_one else [pool.token1, pool.token0]
                amount = random_amount(rng, 10 * max(snapshot.reserve0, snapshot.reserve1))
                name = "getAmountsIn" if buys else "getAmountsOut"
                asked.append((snapshot, zero_for_one, buys, amount))
                calls.append((router, calldata(f"{name}(uint256,address[])", amount, path)))
        for (pool, zero_for_one, buys, amount), answer in zip(
            asked, chain.calls(calls, ["uint256[]"]), strict=True
        ):
            quoted = (pool.exact_out if buys else pool.exact_in)(zero_for_one, amount)
            if answer is None:
                assert buys
                assert quoted is None
            elif quoted is None:
                # The library gives a price, but the pair would revert: reserves are uint112.
                reserve_in = pool.reserve0 if zero_for_one else pool.reserve1
                assert reserve_in + answer[0][0] >= 2**112
            else:
                assert quoted == (answer[0][0 if buys else 1], 0)
        for pool in pools:
            path = [pool.token0, pool.token1]
            rng.shuffle(path)
            before = chain.snapshot(pool)
            zero_for_one = path[0] == pool.token0
            reserve_in = before.reserve0 if zero_for_one else before.reserve1
            amount = int(reserve_in * 10 ** rng.uniform(-5, -1))
            signature = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
            chain.send(router, calldata(signature, amount, 0, path, chain.sender, MAX_UINT48))
            after = chain.snapshot(pool)
            gone = before.reserve1 - after.reserve1 if zero_for_one else before.reserve0 - after.reserve0
            assert before.exact_in(zero_for_one, amount) == (gone, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "compare"), [("uniswap-v3", compare_quotes_v3), ("uniswap-v4", compare_quotes_v4)]
)
def test_concentrated_quotes_and_swaps(devnet, chain, protocol, compare):
    rng = random.Random(34)
    pools = pools_of(devnet, protocol)
    compared = compare(chain, rng, pools, QUOTES)
    partial = crossed = 0
    add_random_positions(chain, rng, pools)
    for turn in range(ROUNDS):
        if turn == 1:
            set_protocol_fees(chain, rng, pools)
        stopped, passed = trade_at_random(chain, rng, pools, 30)
        partial, crossed = partial + stopped, crossed + passed
        compared += compare(chain, rng, pools, QUOTES)
    assert compared == (ROUNDS + 1) * QUOTES * len(pools)
    assert crossed > 20
    assert partial or protocol == "uniswap-v4"


def set_protocol_fees(chain, rng, pools):
    """Switches on protocol fees that differ by direction, in all pools of a protocol."""
    if pools[0].protocol == "uniswap-v3":
        (owner,) = chain.call(chain.contracts["UniswapV3Factory"], "owner()", returns=["address"])
        chain.impersonate(owner)
        for pool in pools:
            data = calldata("setFeeProtocol(uint8,uint8)", rng.randint(4, 10), rng.randint(4, 10))
            chain.send(pool.id, data, sender=owner)
        return
    manager = chain.contracts["PoolManager"]
    (owner,) = chain.call(manager, "owner()", returns=["address"])
    chain.impersonate(owner)
    chain.send(manager, calldata("setProtocolFeeController(address)", owner), sender=owner)
    for pool in pools:
        fee = rng.randint(1, 1000) << 12 | rng.randint(1, 1000)
        data = calldata(f"setProtocolFee({POOL_KEY},uint24)", key_of(pool), fee)
        chain.send(manager, data, sender=owner)
        assert chain.snapshot(pool).swap_fee_pips(True) > pool.fee


@pytest.mark.slow
def test_routes_of_three_hops(devnet, chain):
    """Compares best paths over v3 pools with the quoter's multi-hop calls."""
    rng = random.Random(3)
    pools = pools_of(devnet, "uniswap-v3")
    graph = Graph([chain.snapshot(pool) for pool in pools], chain.contracts["WETH9"])
    tokens = sorted({token for pool in pools for token in (pool.token0, pool.token1)})
    decimals = {token.address: token.decimals for token in devnet.chains["devnet"].tokens}
    lengths = []
    for _ in range(20 * QUOTES):
        token_in, token_out = rng.sample(tokens, 2)
        buys = rng.random() < 0.5
        search, name = (
            (best_path_exact_out, "quoteExactOutput") if buys else (best_path_exact_in, "quoteExactInput")
        )
        amount = int(10 ** (decimals[token_out if buys else token_in] + rng.uniform(-3, 2)))
        path = search(graph, token_in, token_out, amount, UNISWAP_GAS)
        if isinstance(path, NoPath):
            continue
        hops = path.hops[::-1] if buys else path.hops
        route = bytes.fromhex((token_out if buys else token_in)[2:])
        for hop in hops:
            route += hop.fee_pips.to_bytes(3, "big")
            route += bytes.fromhex((hop.token_in if buys else hop.token_out)[2:])
        returns = ["uint256", "uint160[]", "uint32[]", "uint256"]
        quoter = chain.contracts["QuoterV2"]
        answer = chain.call(quoter, f"{name}(bytes,uint256)", route, amount, returns=returns)
        assert answer[0] == (path.amount_in if buys else path.amount_out)
        lengths.append(len(hops))
    assert set(lengths) == {1, 2, 3}


@pytest.mark.slow
def test_tick_at_the_price_of_every_pool(devnet, chain):
    for protocol in ("uniswap-v3", "uniswap-v4"):
        for pool in pools_of(devnet, protocol):
            snapshot = chain.snapshot(pool)
            tick = tick_at_sqrt_ratio(snapshot.sqrt_price_x96)
            # After a swap down to an initialised tick, the pool's tick is already the one below.
            assert snapshot.tick in (tick, tick - 1)
