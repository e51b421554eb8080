"""``quoteway describe``: real contracts get the roles that the core knows, and the source works as it is."""

import asyncio
import re
import shlex
import sys
import types
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner
from described_contracts import FUTURE, KEY, OTHER, SENDER, SWAP, V2, V3, Devnet, call_of, described, known
from quoteway import ContractSwaps
from quoteway.config.model import CallsConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.address import keccak256
from quoteway.evm.calls.described import Described
from quoteway.evm.calls.meaning import Sent
from quoteway.evm.calls.registry import readers_of
from quoteway.models import DeployedAt, PaymentRoles, SpendRoles
from quoteway.server.cli import main
from quoteway.server.describing.transaction import IMPLEMENTATION_SLOT
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.exchange import OwnExchange
from quoteway_devnet.networks import devnet_networks

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
from yearn_vaults import YearnVaults


@pytest.fixture
def here(devnet, tmp_path):
    return Devnet(devnet, tmp_path)


# --- as the core knows them ---------------------------------------------------------------------------------


def test_the_swaps_of_the_v2_router_are_those_that_the_core_knows(here):
    calls = {
        "swapExactTokensForTokens": here.swap(),
        "swapExactTokensForETH": here.call(
            *(V2, here.v2, "swapExactTokensForETH(uint256,uint256,address[],address,uint256)"),
            *(10**9, 5, [here["USDC"], here["WETH"]], OTHER, FUTURE),
        ),
        "swapExactETHForTokens": here.call(
            *(V2, here.v2, "swapExactETHForTokens(uint256,address[],address,uint256)"),
            *(10**5, [here["WETH"], here["USDC"]], SENDER, FUTURE),
            options=["--value", str(10**18)],
        ),
    }
    for name, result in calls.items():
        assert call_of(result) == known("uniswap.v2-router", name)


@pytest.mark.slow
def test_liquidity_of_the_v2_router_is_as_the_core_knows_it(here):
    both = "address,address,uint256,uint256,uint256,uint256,address,uint256"
    pair = here["USDC"], here["WETH"]
    added = here.call(V2, here.v2, f"addLiquidity({both})", *pair, 10**10, 10**19, 1, 1, SENDER, FUTURE)
    assert call_of(added) == known("uniswap.v2-router", "addLiquidity")
    shares = next(
        pool.id
        for pool in here.chain.pools
        if pool.protocol == "uniswap-v2" and {pool.token0, pool.token1} == {*pair}
    )
    removal = "removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)"
    values = *pair, 10**10, 1, 1, SENDER, FUTURE
    removed = here.call(V2, here.v2, removal, *values, options=["--token", shares])
    assert call_of(removed) == known("uniswap.v2-router", "removeLiquidity")


def test_an_exact_output_has_its_maximum(here):
    signature = "swapTokensForExactTokens(uint256,uint256,address[],address,uint256)"
    values = 10**17, 10**10, [here["USDC"], here["WETH"], here["UNI"]], SENDER, FUTURE
    found = call_of(here.call(V2, here.v2, signature, *values))
    assert found.spends == (SpendRoles("#.path.[0]", "#.amountInMax"),)
    assert found.pays == (PaymentRoles("#.path.[-1]", "#.to", "#.amountOut"),)
    assert found.deadline == "#.deadline"


def test_the_calls_of_a_vault_are_those_that_the_core_knows(here):
    abi = resources.files("quoteway_devnet") / "artifacts" / "YieldVault.json"
    vault = here.chain.vaults[0].address
    calls = {
        "deposit": ("deposit(uint256,address)", 10**9, OTHER),
        "mint": ("mint(uint256,address)", 10**9, SENDER),
        "redeem": ("redeem(uint256,address,address)", 10**8, OTHER, SENDER),
        "withdraw": ("withdraw(uint256,address,address)", 10**8, SENDER, SENDER),
    }
    for name, call in calls.items():
        assert call_of(here.call(abi, vault, *call)) == known("erc4626", name), name


def test_swap_router_02_means_what_the_core_reads_of_its_predecessor(here):
    values = here["USDC"], here["WETH"], 500, OTHER, 10**9, 10**5, 0
    signature = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))"
    found = call_of(here.call(V3, here.v3, signature, values))
    data = encode_call(signature, [values])
    mine = Described(found).read(Sent(here.v3, data, 0, SENDER)).meaning
    readers = readers_of("uniswap.v3-router").values()
    (reader,) = (each for each in readers if each.function.signature.startswith("exactInputSingle"))
    older = reader.function.encode([(*values[:4], FUTURE, *values[4:])])
    cores = reader.read(Sent(here.v3, older, 0, SENDER)).meaning
    assert mine == replace(cores, deadline=None)
    assert found.empty == ("#.params.[6]",), "the core refuses a price at which the swap would stop"


@pytest.mark.slow
def test_the_shares_of_a_vault_with_other_names_are_its_own(fresh_devnet, here):
    abi = resources.files("quoteway_devnet") / "artifacts" / "YearnLikeVault.json"
    own, vault = OwnExchange(fresh_devnet), fresh_devnet.deploy("YearnLikeVault", "(address)", here["USDC"])
    fresh_devnet.faucet("USDC", SENDER, 10**10)
    own.approve(here["USDC"], vault, 10**9)
    own.send(vault, encode_call("deposit(uint256,address)", [10**9, SENDER]))
    redemption = "withdraw(uint256,address)", 10**8, SENDER
    even = here.call(abi, vault, *redemption, options=["--action", "redeem"])
    assert call_of(even, status=1).spends == (), "a share is worth what it cost: its amount is ambiguous"
    own.send(here["USDC"], encode_call("transfer(address,uint256)", [vault, 123_456_789]))
    found = call_of(here.call(abi, vault, *redemption, options=["--action", "redeem"]))
    assert found == YearnVaults.redeem_call


# --- the source ---------------------------------------------------------------------------------------------


def test_the_source_names_the_contract_and_pins_its_code(here):
    result = here.swap()
    contract = described(result)
    assert contract.name == "UniswapV2Router02"
    with here.devnet.rpc() as rpc:
        code = bytes.fromhex(rpc("eth_getCode", here.v2, "latest")[2:])
    assert contract.deployments == (DeployedAt(31337, here.v2, "0x" + keccak256(code).hex()),)
    assert max(map(len, result.stdout.splitlines())) <= 110
    assert result.stderr == ""


def test_the_command_of_the_page_prints_the_source_of_the_page(here, monkeypatch):
    """Copied literally, in a folder of the sources."""
    folder = Path(__file__).parent.parent
    page = (folder / "docs" / "how-to" / "describe-the-calls-of-a-contract.md").read_text()
    (command,) = (block for block in page.split("```sh\n") if block.startswith("quoteway describe tests/"))
    _, _, *words = shlex.split(command.partition("```")[0].replace("\\\n", ""))
    shown = page.split("```python\n")[-1].partition("```")[0]
    monkeypatch.chdir(folder)
    words += ["--config", str(here.folder / "quoteway.toml")]
    result = CliRunner().invoke(main, ["describe", *words], env=KEY)
    assert result.exit_code == 0, result.output
    printed = result.stdout.partition('"""\n\n')[2]
    assert printed.partition("\n\n\n# Once")[0] + "\n" == shown


def test_a_transaction_on_the_chain_is_run_before_its_block(fresh_devnet, here):
    own = OwnExchange(fresh_devnet)
    sold = here["USDC"]
    fresh_devnet.faucet("USDC", SENDER, 2 * 10**9)
    own.approve(sold, here.v2, 10**9)
    with fresh_devnet.rpc() as rpc:
        ends = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 60
    swap = encode_call(SWAP, [10**9, 10**15, [sold, here["WETH"]], OTHER, ends])
    receipt = own.send(here.v2, swap)
    own.send(sold, encode_call("transfer(address,uint256)", [OTHER, 10**9]))
    result = here.describe(V2, "--transaction", receipt["transactionHash"], "--name", 'My "router"\n# 1')
    contract = described(result)
    assert contract.calls == (known("uniswap.v2-router", "swapExactTokensForTokens"),)
    assert contract.name == 'My "router"\n# 1'
    assert receipt["transactionHash"] in result.stdout


def without_known_contracts(devnet):
    networks = [replace(network, contracts={}) for network in devnet_networks(devnet.ports)]
    return FakePlugin([HttpRpc], networks=networks)


async def test_a_provider_with_the_source_verbatim_quotes_and_acts(fresh_devnet, tmp_path, make_gateway):
    here, exchange = Devnet(fresh_devnet, tmp_path), OwnExchange(fresh_devnet)
    source = (await asyncio.to_thread(here.swap)).stdout
    plugin = types.ModuleType("my_exchange")
    exec(compile(source, "my_exchange.py", "exec"), plugin.__dict__)

    class Swaps(ContractSwaps):
        id = "my-exchange"
        title = "My exchange"
        quoting = "getAmountsOut(uint256 amountIn, address[] path) returns (uint256[] amounts)"
        swapping = plugin.SWAP_EXACT_TOKENS_FOR_TOKENS

        def path(self, request):
            return [request.token_in.address, request.token_out.address]

        def quote_args(self, request, plan):
            return request.amount_in, self.path(request)

        def swap_args(self, order):
            path = self.path(order.request)
            return order.amount_in, order.minimum, path, order.recipient, order.deadline

    plugin.quoteway_swap_providers = plugin.quoteway.hookimpl(
        lambda context: [Swaps(context, {31337: here.v2})], specname="quoteway_swap_providers"
    )
    (digest,) = re.findall(r"sha256:[0-9a-f]{64}", source)
    chains = without_known_contracts(fresh_devnet)
    plugins = {"chains": chains, "my-exchange": plugin}
    gateway = await make_gateway(plugins, calls=CallsConfig((digest,)))
    await exchange.executed(gateway, exchange.request("USDC", "WETH", 10**9), "my-exchange")


def test_a_proxy_is_said_to_be_one(fresh_devnet, here):
    implementation = "0x" + bytes(12).hex() + OTHER[2:]
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_setStorageAt", here.v2, IMPLEMENTATION_SLOT, implementation)
    assert "# Note: the contract is a proxy (ERC-1967)" in here.swap().stdout
