"""A network without the contracts of its row: what is missing is said, and found when it appears."""

import asyncio

import pytest
from public_networks import NATIVE, SENDER, Place, gateway_on
from quoteway.server.doctor import Finding, examine
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.chains import Devnet
from quoteway_devnet.packages import prepare, prepare_public
from quoteway_devnet.public_chains import build_public_chain
from quoteway_devnet.transactions import Transactions
from quoteway_uniswap.public_networks import ROWS

(ROW,) = ROWS[1]
USDC, WETH = ROW["base_tokens"][0], ROW["wrapped_native"]
NO_TOKEN = "0x1234567890123456789012345678901234567890"
SWAP = {
    "network": "ethereum",
    "address": SENDER,
    "fromToken": NATIVE,
    "toToken": USDC,
    "amount": str(10**18),
    "slippageBps": 50,
}


@pytest.fixture
def empty():
    """An empty chain that says it is Ethereum."""
    tools = prepare()
    with Anvil.launch(tools.anvil, 1, free_port()) as anvil:
        yield anvil


async def missing_on(api):
    (row,) = [row for row in (await api.get("/v2/providers")).body["data"] if row["id"] == "uniswap"]
    return row["missingContracts"]


async def until(condition, timeout_s=20):
    async with asyncio.timeout(timeout_s):
        while not await condition():
            await asyncio.sleep(0.05)


async def test_what_is_missing_is_named_and_found_when_it_appears(empty):

    async with gateway_on({"ethereum": empty.url}) as api:
        quote = await api.post("/v2/swaps/quote", SWAP)
        error = quote.refused(502, "upstream_error", "contract_missing")
        assert f"Uniswap base token ({USDC})" in error["message"]
        assert "have no code on ethereum" in error["message"]
        unknown = await api.post("/v2/swaps/quote", SWAP | {"toToken": NO_TOKEN})
        error = unknown.refused(502, "upstream_error", "contract_missing")
        assert "uniswap needs contracts that have no code on ethereum" in error["message"]
        for path in ("/v2/pools?network=ethereum", "/v2/pools"):
            (await api.get(path)).refused(502, "upstream_error", "contract_missing")
        add = {"action": "add", "address": SENDER, "amount": "1", "asset": USDC, "slippageBps": 50}
        pool = f"/v2/pools/1:{NO_TOKEN}/quote"
        (await api.post(pool, add)).refused(502, "upstream_error", "contract_missing")

        missing = await missing_on(api)
        listing = await api.get("/v2/providers")
        await api.check("listProviders", listing)
        assert {(row["network"], row["chainId"]) for row in missing} == {("ethereum", 1)}
        expected = {
            *(ROW["router"], WETH, *ROW["base_tokens"], "0x000000000022D473030F116dDEE9F6B43aC78BA3"),
            *(ROW["v2"]["factory"], ROW["v2"]["router"]),
            *(ROW["v3"]["factory"], ROW["v3"]["position_manager"]),
            *(ROW["v4"]["pool_manager"], ROW["v4"]["position_manager"]),
        }
        assert {row["contract"] for row in missing} == expected

        def build():
            with empty.rpc() as rpc:
                transactions = Transactions(rpc, prepare().bytecode, prepare_public())
                return build_public_chain(transactions, "ethereum", 1, ROW)

        chain = await asyncio.to_thread(build)

        async def all_found():
            return not await missing_on(api)

        await until(all_found)
        place = Place(Devnet({"ethereum": empty.port}, {"ethereum": chain}), api, "ethereum")
        _, difference = await place.swap("ETH", "USDC", 1)
        assert difference == 0
        unknown = await api.post("/v2/swaps/quote", SWAP | {"toToken": NO_TOKEN})
        unknown.refused(422, "validation_error", "unsupported_token", "toToken")


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["router", "pools"])
async def test_a_quote_says_which_contract_it_needs(empty, contract):
    def build():
        with empty.rpc() as rpc:
            transactions = Transactions(rpc, prepare().bytecode, prepare_public())
            build_public_chain(transactions, "ethereum", 1, ROW)
            gone = [ROW["router"]] if contract == "router" else [ROW["v4"]["pool_manager"], WETH]
            for address in gone:
                rpc("anvil_setCode", address, "0x")

    await asyncio.to_thread(build)
    async with gateway_on({"ethereum": empty.url}) as api:
        swap = SWAP | {"protocols": ["uniswap"]}
        error = (await api.post("/v2/swaps/quote", swap)).refused(502, "upstream_error", "contract_missing")
        named = ROW["router"] if contract == "router" else ROW["v4"]["pool_manager"]
        assert named in error["message"]
        attempts = error["details"]["attempts"]
        assert [each["provider"] for each in attempts if each["outcome"] != "not_asked"] == ["uniswap"]


async def test_the_doctor_names_what_is_missing_and_the_remedy(empty, tmp_path, monkeypatch, caplog):
    caplog.set_level("CRITICAL", "quoteway")  # as the doctor does, and set back afterwards
    pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    file = tmp_path / "quoteway.toml"
    file.write_text(
        '[plugins]\nload = ["rpc", "uniswap"]\n'
        '[quotes]\nkeys = [{ id = "k", secret = { env = "TEST_KEY" } }]\n'
        f'[networks.ethereum]\nrpc = ["{empty.url}"]\n'
    )
    monkeypatch.setenv("TEST_KEY", "c0a7914ed3f8625b4f1c9a07e2d85b36")
    remedy = (
        "has no code: use a synchronised node of this network, or correct the address in the section of the "
        "plugin"
    )
    router = f"Uniswap Universal Router ({ROW['router']})"
    found = await examine(file)
    assert Finding("ok", "rpc ethereum #1", "chain 1") in found
    assert Finding("warn", "rpc ethereum #1", f"uniswap: {router} {remedy}") in found
    async with gateway_on({"ethereum": empty.url}) as api:
        (await api.post("/v2/swaps/quote", SWAP)).refused(502, "upstream_error", "contract_missing")
        found = await examine(file, api.url)
    assert Finding("warn", "provider uniswap", f"{router} on ethereum {remedy}") in found
