"""Every provider of a network without contracts says what is missing."""

import asyncio
from dataclasses import replace

import pytest
import quoteway_across
import quoteway_erc4626
import quoteway_rpc
import quoteway_uniswap
from quoteway.config.model import Config, ServerConfig
from quoteway.config.network import NetworkConfig
from quoteway.networks import Endpoint
from quoteway.testing.serving import served
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.packages import prepare

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDC_ON_OPTIMISM = "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"
SPOKE_POOL = "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5"
SAVINGS_DAI = "0x83F20F44975D03b1b09e64809B757c47f942BEeA"


@pytest.fixture(scope="module")
def urls():
    """Empty chains that say they are Ethereum and Optimism."""
    anvil = prepare().anvil
    with Anvil.launch(anvil, 1, free_port()) as ethereum, Anvil.launch(anvil, 10, free_port()) as optimism:
        yield {"ethereum": ethereum.url, "optimism": optimism.url}


@pytest.fixture
async def api(urls):
    networks = {slug: NetworkConfig(rpc=(Endpoint(url),), block_time_s=1.0) for slug, url in urls.items()}
    config = Config(server=replace(ServerConfig(), port=0), networks=networks)
    modules = (quoteway_rpc, quoteway_across, quoteway_erc4626, quoteway_uniswap)
    async with served({module.__name__[9:]: module for module in modules}, config) as api:
        yield api


async def test_a_network_without_our_contracts_is_not_ready(api):
    async with asyncio.timeout(30):
        while True:
            answer = await api.get("/readyz?verbose")
            ethereum = answer.body["networks"]["ethereum"]
            if ethereum["capabilities"]["swap"]["state"] == "dead":
                break
            await asyncio.sleep(0.1)
    assert answer.status == 200
    assert ethereum["state"] == "degraded"
    assert "contract_missing" in ethereum["why"]
    for capability in ("swap", "bridge", "pool", "vault"):
        assert ethereum["capabilities"][capability]["state"] == "dead"
        assert "contract_missing" in ethereum["capabilities"][capability]["why"]
    assert ethereum["capabilities"]["rpc"] == {"state": "ready", "why": []}


async def test_every_provider_says_what_it_misses(api):
    bridge = {
        "fromChain": "ethereum",
        "toChain": "optimism",
        "address": WALLET,
        "fromToken": USDC,
        "toToken": USDC_ON_OPTIMISM,
        "amount": "1000000",
        "slippageBps": 50,
    }
    error = (await api.post("/v2/bridges/quote", bridge)).refused(502, "upstream_error", "contract_missing")
    assert (
        f"across needs contracts that have no code on ethereum: Across SpokePool ({SPOKE_POOL})"
        in (error["message"])
    )
    deposit = {"action": "deposit", "address": WALLET, "asset": USDC, "amount": "1000000", "slippageBps": 50}
    vault = await api.post(f"/v2/vaults/1:{SAVINGS_DAI}/quote", deposit)
    error = vault.refused(502, "upstream_error", "contract_missing")
    assert f"ERC-4626 vault ({SAVINGS_DAI})" in error["message"]
    for path in ("/v2/vaults?network=ethereum", "/v2/pools", "/v2/bridges/routes"):
        (await api.get(path)).refused(502, "upstream_error", "contract_missing")
    rows = {row["id"]: row["missingContracts"] for row in (await api.get("/v2/providers")).body["data"]}
    assert {row["network"] for row in rows["across"]} == {"ethereum", "optimism"}
    assert {"network": "ethereum", "chainId": 1, "contract": SPOKE_POOL, "label": "Across SpokePool"} in (
        rows["across"]
    )
    assert SAVINGS_DAI in {row["contract"] for row in rows["erc4626"]}
    assert rows["rpc"] == []
