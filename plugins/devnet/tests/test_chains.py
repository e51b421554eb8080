import asyncio
import time
import urllib.request

import pytest
from chain_calls import balance, read, send
from eth_utils import keccak
from ports import closes
from quoteway.evm.abi import encode, encode_call
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.anvil import STATES_KEPT, free_port
from quoteway_devnet.chains import Devnet
from quoteway_devnet.errors import DevnetError

ZERO = "0x0000000000000000000000000000000000000000"
SLOT0 = "(uint160,int24,uint16,uint16,uint16,uint8,bool)"
SOMEONE = "0x1111111111111111111111111111111111111111"


def test_chain_ids(devnet):
    for slug, chain_id in (("devnet", 31337), ("devnet-l2", 31338)):
        with devnet.rpc(slug) as rpc:
            assert int(rpc("eth_chainId"), 16) == chain_id == devnet.chains[slug].chain_id


def test_time_and_fees_are_live(devnet, slug):
    with devnet.rpc(slug) as rpc:
        block = rpc("eth_getBlockByNumber", "latest", False)
        pending = rpc("eth_getBlockByNumber", "pending", False)
    assert abs(int(block["timestamp"], 16) - time.time()) < 120
    assert 10**8 < int(pending["baseFeePerGas"], 16) < 10**10


def test_contracts_have_code(devnet, slug):
    chain = devnet.chains[slug]
    with devnet.rpc(slug) as rpc:
        for name, address in chain.contracts.items():
            assert len(rpc("eth_getCode", address, "latest")) > 100, name


def test_permit2_signs_for_this_chain(devnet, slug):
    # EIP-712 over Permit2's domain, which has no version.
    chain = devnet.chains[slug]
    permit2 = chain.contracts["Permit2"]
    assert permit2 == "0x000000000022D473030F116dDEE9F6B43aC78BA3"
    expected = keccak(
        encode(
            ["bytes32", "bytes32", "uint256", "address"],
            [
                keccak(text="EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
                keccak(text="Permit2"),
                chain.chain_id,
                permit2,
            ],
        )
    )
    with devnet.rpc(slug) as rpc:
        assert read(rpc, permit2, "DOMAIN_SEPARATOR()", "(bytes32)")[0] == expected


def test_multicall3_answers_at_its_canonical_address(devnet, slug):
    chain = devnet.chains[slug]
    usdc = chain.token("USDC").address
    with devnet.rpc(slug) as rpc:
        (results,) = read(
            rpc,
            "0xcA11bde05977b3631167028862bE2a173976CA11",
            "aggregate3((address,bool,bytes)[])",
            "((bool,bytes)[])",
            [(usdc, False, encode_call("decimals()", [])), (usdc, True, encode_call("nonsense()", []))],
        )
    assert [ok for ok, _ in results] == [True, False]
    assert int.from_bytes(results[0][1]) == 6


def test_accounts_are_funded_and_unused(devnet, slug):
    chain = devnet.chains[slug]
    with devnet.rpc(slug) as rpc:
        for account in ACCOUNTS:
            assert int(rpc("eth_getTransactionCount", account.address, "latest"), 16) == 0
            assert int(rpc("eth_getBalance", account.address, "latest"), 16) == 10**6 * 10**18
            for token in chain.tokens:
                whole = balance(rpc, token.address, account.address) / 10**token.decimals
                assert whole * float(token.price_usd) == pytest.approx(100e6, rel=1e-3), token.symbol


def test_tokens_describe_themselves_as_the_manifest_does(devnet, slug):
    chain = devnet.chains[slug]
    with devnet.rpc(slug) as rpc:
        for token in chain.tokens:
            assert read(rpc, token.address, "symbol()", "(string)")[0] == token.symbol
            assert read(rpc, token.address, "decimals()", "(uint8)")[0] == token.decimals


def _state(rpc, chain, pool):
    """Price of token1 per token0 in base units, and whatever stands for liquidity, from the pool itself."""
    if pool.protocol == "uniswap-v2":
        reserve0, reserve1, _ = read(rpc, pool.id, "getReserves()", "(uint112,uint112,uint32)")
        assert read(rpc, pool.id, "token0()", "(address)")[0] == pool.token0
        return reserve1 / reserve0, reserve0 * reserve1
    if pool.protocol == "uniswap-v3":
        sqrt_price, *_ = read(rpc, pool.id, "slot0()", SLOT0)
        assert read(rpc, pool.id, "fee()", "(uint24)")[0] == pool.fee
        assert read(rpc, pool.id, "tickSpacing()", "(int24)")[0] == pool.tick_spacing
        (liquidity,) = read(rpc, pool.id, "liquidity()", "(uint128)")
        return (sqrt_price / 2**96) ** 2, liquidity
    view, identity = chain.contracts["StateView"], bytes.fromhex(pool.id[2:])
    sqrt_price, _, _, lp_fee = read(rpc, view, "getSlot0(bytes32)", "(uint160,int24,uint24,uint24)", identity)
    assert lp_fee == pool.fee
    (liquidity,) = read(rpc, view, "getLiquidity(bytes32)", "(uint128)", identity)
    return (sqrt_price / 2**96) ** 2, liquidity


def test_pools_have_the_table_prices(devnet, slug):
    chain = devnet.chains[slug]
    facts = {t.address: (float(t.price_usd), t.decimals) for t in chain.tokens}
    facts[ZERO] = facts[chain.contracts["WETH9"]]
    with devnet.rpc(slug) as rpc:
        for pool in chain.pools:
            price, liquidity = _state(rpc, chain, pool)
            (usd0, decimals0), (usd1, decimals1) = facts[pool.token0], facts[pool.token1]
            expected = usd0 / usd1 * 10.0 ** (decimals1 - decimals0)
            assert price == pytest.approx(expected, rel=1e-3), pool
            assert liquidity > 0, pool


def test_concentrated_pools_have_ticks_to_cross(devnet):
    chain = devnet.chains["devnet"]
    with devnet.rpc() as rpc:
        for pool in chain.pools:
            if pool.protocol != "uniswap-v3":
                continue
            _, tick, *_ = read(rpc, pool.id, "slot0()", SLOT0)
            word = (tick // pool.tick_spacing) >> 8
            lens = chain.contracts["TickLens"]
            found = []
            for at in range(word - 4, word + 5):
                signature = "getPopulatedTicksInWord(address,int16)"
                (ticks,) = read(rpc, lens, signature, "((int24,int128,uint128)[])", pool.id, at)
                found += [row[0] for row in ticks]
            assert any(at <= tick for at in found), pool
            assert any(at > tick for at in found), pool
            assert len(found) >= 4, pool


def _quote(rpc, chain, pool, zero_for_one, amount_in):
    contracts = chain.contracts
    token_in, token_out = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
    if pool.protocol == "uniswap-v2":
        signature = "getAmountsOut(uint256,address[])"
        router = contracts["UniswapV2Router02"]
        return read(rpc, router, signature, "(uint256[])", amount_in, [token_in, token_out])[0][-1]
    if pool.protocol == "uniswap-v3":
        signature = "quoteExactInputSingle((address,address,uint256,uint24,uint160))"
        request = (token_in, token_out, amount_in, pool.fee, 0)
        return read(rpc, contracts["QuoterV2"], signature, "(uint256,uint160,uint32,uint256)", request)[0]
    key = (pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks)
    signature = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"
    request = (key, zero_for_one, amount_in, b"")
    return read(rpc, contracts["V4Quoter"], signature, "(uint256,uint256)", request)[0]


@pytest.mark.parametrize("zero_for_one", [True, False])
def test_every_pool_takes_a_small_and_a_large_swap(devnet, slug, zero_for_one):
    chain = devnet.chains[slug]
    facts = {t.address: (float(t.price_usd), t.decimals) for t in chain.tokens}
    facts[ZERO] = facts[chain.contracts["WETH9"]]
    with devnet.rpc(slug) as rpc:
        for pool in chain.pools:
            token_in, token_out = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
            (usd_in, decimals_in), (usd_out, decimals_out) = facts[token_in], facts[token_out]
            kept = []
            for part in (1e-4, 0.3):
                amount_in = int(pool.depth_usd * part / usd_in * 10**decimals_in)
                out = _quote(rpc, chain, pool, zero_for_one, amount_in)
                kept.append(out / 10**decimals_out * usd_out / (pool.depth_usd * part))
            fee = 0.003 if pool.protocol == "uniswap-v2" else pool.fee / 1e6
            assert kept[0] == pytest.approx(1 - fee, abs=5e-4), pool
            assert 0.3 < kept[1] < kept[0], pool


def test_universal_router_swaps_as_quoted(fresh):
    chain = fresh.chains["devnet"]
    router, weth, usdc = (
        chain.contracts["UniversalRouter"],
        chain.contracts["WETH9"],
        chain.token("USDC").address,
    )
    amount, account = 3 * 10**18, ACCOUNTS[3].address
    this_router = "0x0000000000000000000000000000000000000002"

    def pool_of(protocol, token0_or_1, fee):
        return next(
            p
            for p in chain.pools
            if p.protocol == protocol
            and {p.token0, p.token1} == {token0_or_1, usdc}
            and p.fee == fee
            and p.hooks == ZERO
        )

    wrap = encode(["address", "uint256"], [this_router, amount])
    v2 = encode(
        ["address", "uint256", "uint256", "address[]", "bool"], [account, amount, 0, [weth, usdc], False]
    )
    path = bytes.fromhex(weth[2:]) + (500).to_bytes(3) + bytes.fromhex(usdc[2:])
    v3 = encode(["address", "uint256", "uint256", "bytes", "bool"], [account, amount, 0, path, False])
    swap = encode(
        ["((address,address,uint24,int24,address),bool,uint128,uint128,bytes)"],
        [((ZERO, usdc, 500, 10, ZERO), True, amount, 0, b"")],
    )
    settle, take = (
        encode(["address", "uint256"], [token, limit]) for token, limit in ((ZERO, amount), (usdc, 0))
    )
    v4 = encode(["bytes", "bytes[]"], [bytes([0x06, 0x0C, 0x0F]), [swap, settle, take]])
    with fresh.rpc() as rpc:
        for pool, commands, inputs in (
            (pool_of("uniswap-v2", weth, 3000), b"\x0b\x08", [wrap, v2]),
            (pool_of("uniswap-v3", weth, 500), b"\x0b\x00", [wrap, v3]),
            (pool_of("uniswap-v4", ZERO, 500), b"\x10", [v4]),
        ):
            zero_for_one = pool.token0 in (weth, ZERO)
            quoted = _quote(rpc, chain, pool, zero_for_one, amount)
            before = balance(rpc, usdc, account)
            signature = "execute(bytes,bytes[],uint256)"
            receipt = send(rpc, account, router, signature, commands, inputs, 2**40, value=amount)
            assert receipt["status"] == "0x1", pool
            assert balance(rpc, usdc, account) - before == quoted > 0, pool


def test_faucet_gives_any_token_to_anyone(fresh):
    chain = fresh.chains["devnet"]
    fresh.faucet("ETH", SOMEONE, 5)
    with fresh.rpc() as rpc:
        assert int(rpc("eth_getBalance", SOMEONE, "latest"), 16) == 5
        for index, token in enumerate(chain.tokens, start=1):
            fresh.faucet(token.symbol if index % 2 else token.address, SOMEONE, index)
            assert balance(rpc, token.address, SOMEONE) == index, token.symbol
        with pytest.raises(DevnetError, match="own tokens"):
            fresh.faucet(chain.contracts["PoolManager"], SOMEONE, 1)


def test_revert_brings_the_snapshot_back(devnet):
    snapshot = devnet.snapshot()
    devnet.faucet("ETH", SOMEONE, 7, "devnet-l2")
    devnet.revert(snapshot)
    with devnet.rpc("devnet-l2") as rpc:
        assert int(rpc("eth_getBalance", SOMEONE, "latest"), 16) == 0
    with pytest.raises(DevnetError, match="only once"):
        devnet.revert(snapshot)


def test_reads_stay_possible_at_earlier_blocks(fresh):
    usdc = fresh.chains["devnet"].token("USDC").address
    data = "0x" + encode_call("balanceOf(address)", [SOMEONE]).hex()
    with fresh.rpc() as rpc:
        block = rpc("eth_getBlockByNumber", "latest", False)["hash"]
        fresh.faucet("USDC", SOMEONE, 9)
        then = rpc("eth_call", {"to": usdc, "data": data}, {"blockHash": block})
        now = rpc("eth_call", {"to": usdc, "data": data}, "latest")
    assert (int(then, 16), int(now, 16)) == (0, 9)


@pytest.mark.slow
def test_a_long_chain_keeps_recent_states_and_its_snapshot(devnet):
    usdc = devnet.chains["devnet"].token("USDC").address
    request = {"to": usdc, "data": "0x" + encode_call("balanceOf(address)", [SOMEONE]).hex()}
    snapshot = devnet.snapshot()
    with devnet.rpc() as rpc:
        devnet.faucet("USDC", SOMEONE, 9)
        rpc("anvil_mine", hex(2 * STATES_KEPT))
        recent = hex(int(rpc("eth_blockNumber"), 16) - STATES_KEPT + 2)
        assert int(rpc("eth_call", request, recent), 16) == 9
        devnet.revert(snapshot)
        assert int(rpc("eth_call", request, "latest"), 16) == 0
        devnet.faucet("USDC", SOMEONE, 3)
        assert int(rpc("eth_call", request, "latest"), 16) == 3


async def test_from_a_coroutine():
    async with Devnet.start() as devnet:
        attached = Devnet.attach(devnet.ports)
        assert attached.urls == devnet.urls
    with pytest.raises(DevnetError, match="quoteway devnet"):
        Devnet.attach(devnet.ports, timeout_s=0.2)


async def test_a_cancelled_start_leaves_nothing_running():
    ports = {"devnet": free_port(), "devnet-l2": free_port()}

    async def use():
        async with Devnet.start(ports):
            pytest.fail("it should not have got here")

    task = asyncio.create_task(use())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_default_executor()  # its thread brings the chains up first
    await asyncio.sleep(0)
    assert all(closes(port) for port in ports.values())


def test_node_answers_browsers(devnet):
    request = urllib.request.Request(
        devnet.urls["devnet"],
        data=b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}',
        headers={"Content-Type": "application/json", "Origin": "http://localhost:8080"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] in ("*", "http://localhost:8080")


def test_vaults_earned_over_the_last_thirty_days():
    with Devnet.running() as devnet:  # one whose first states have not been pruned
        for slug in ("devnet", "devnet-l2"):
            yields = _yields(devnet, slug)
            assert 0.035 < yields["steady-usdc"] < 0.045
            assert 0.10 < yields["bold-usdc"] < 0.12
            assert yields["steady-usdc"] < yields["managed-usdc"] < yields["bold-usdc"]


def _yields(devnet, slug):
    chain = devnet.chains[slug]
    yields = {}
    with devnet.rpc(slug) as rpc:
        head = rpc("eth_getBlockByNumber", "latest", False)
        now_s, number = (int(head[member], 16) for member in ("timestamp", "number"))
        first = next(
            block
            for back in range(40)
            if (block := rpc("eth_getBlockByNumber", hex(number - back), False))
            and now_s - int(block["timestamp"], 16) > 29.9 * 86_400
        )
        days = (now_s - int(first["timestamp"], 16)) / 86_400
        for vault in chain.vaults:
            one = "0x" + encode_call("convertToAssets(uint256)", [10**24]).hex()
            then, now = (
                int(rpc("eth_call", {"to": vault.address, "data": one}, tag), 16)
                for tag in (first["number"], "latest")
            )
            yields[vault.id] = (now / then - 1) / days * 365
    return yields


def test_the_managed_vault_uses_both_plain_ones(devnet, slug):
    chain = devnet.chains[slug]
    *plain, managed = chain.vaults
    with devnet.rpc(slug) as rpc:
        strategies = read(rpc, managed.address, "strategies()", "(address[])")[0]
        assert [int(item, 16) for item in strategies] == [int(vault.address, 16) for vault in plain]
        assert read(rpc, managed.address, "owner()", "(address)")[0] == ACCOUNTS[0].address
        assert read(rpc, managed.address, "bot()", "(address)")[0] == ACCOUNTS[1].address
        for vault in plain:
            assert balance(rpc, vault.address, managed.address) > 0
        factory = chain.contracts["ManagedVaultFactory"]
        assert read(rpc, factory, "isVault(address)", "(bool)", managed.address) == (True,)
