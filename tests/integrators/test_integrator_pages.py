"""The programs of the how-to pages for integrators, run as a reader copies them.

The Safe is Safe 1.4.1, from the bytecode that its makers publish; it executes what the program proposed.
"""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from eth_account import Account
from eth_account.messages import encode_defunct
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.demo.server import gateway_over
from smart_accounts import OWNER, Chain, Safe

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PACKAGES = Path(__file__).parent / "node_modules"
CLIENT = ROOT / "clients" / "typescript"
SELLER = ACCOUNTS[6]
EXECUTE = function(
    "execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas,"
    " uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)"
)
HASH = (
    "getTransactionHash(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas,"
    " uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, uint256 nonce)"
    " returns (bytes32)"
)


def programs(page):
    """The programs of a page by their headings, with the language of each."""
    found = re.findall(
        r"^## (.+?)\n(?:(?!^## ).)*?^```(js|python)\n(.*?)^```$",
        (HOW_TO / page).read_text(),
        re.MULTILINE | re.DOTALL,
    )
    return {title: (language, text) for title, language, text in found}


@pytest.fixture(scope="module")
def devnet():
    with Devnet.running() as devnet:
        yield devnet


@pytest.fixture(scope="module")
def gateway(devnet):
    with gateway_over(devnet, QUOTEWAY_LIMITS__ENABLED="false") as url:
        yield url


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder in which programs find their packages."""
    folder = tmp_path_factory.mktemp("integrator")
    modules = folder / "node_modules"
    (modules / "@quoteway").mkdir(parents=True)
    (modules / "@quoteway" / "client").symlink_to(CLIENT)
    for name in ("viem", "ethers", "@safe-global"):
        (modules / name).symlink_to(PACKAGES / name)
    return folder


async def run(project, page, title, *arguments):
    """What a program prints. Fails with all that it said when it ends with an error."""
    language, text = programs(page)[title]
    file = project / f"program.{'mjs' if language == 'js' else 'py'}"
    file.write_text(text)
    program = ["node", file] if language == "js" else [sys.executable, file]
    process = await asyncio.create_subprocess_exec(
        *program,
        *arguments,
        cwd=project,
        env={**os.environ, "NODE_OPTIONS": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(300):
            said, wrong = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, (said + wrong).decode()[-6_000:]
    return said.decode()


def token(devnet, symbol):
    return next(each.address for each in devnet.chains["devnet"].tokens if each.symbol == symbol)


def balance(chain, token, owner):
    return chain.call(token, "balanceOf(address account) returns (uint256)", owner)


def test_the_pages_have_the_programs_that_are_run():
    assert list(programs("use-without-a-package.md")) == ["viem", "ethers", "web3.py"]
    assert list(programs("use-from-a-safe.md")) == ["Propose a swap", "Execute with one owner"]


@pytest.mark.parametrize("title", ["viem", "ethers", "web3.py"])
async def test_a_swap_without_a_package_to_the_base_unit(gateway, devnet, project, title):
    chain, usdc = Chain(devnet), token(devnet, "USDC")
    before = balance(chain, usdc, SELLER.address)
    wei = int(chain.rpc("eth_getBalance", SELLER.address, "latest"), 16)
    said = await run(
        project,
        "use-without-a-package.md",
        title,
        *(gateway, devnet.urls["devnet"], SELLER.private_key),
    )
    lines = [line.split() for line in said.splitlines()]
    sent, bought = lines[:-1], int(lines[-1][1])
    assert lines[-1][0] == "bought"
    assert sent[-1][0] == "swap"
    assert before - balance(chain, usdc, SELLER.address) == 250_000_000
    gas = 0
    for _, transaction in sent:
        receipt = chain.rpc("eth_getTransactionReceipt", "0x" + transaction.removeprefix("0x"))
        gas += int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert int(chain.rpc("eth_getBalance", SELLER.address, "latest"), 16) - wei == bought - gas


@pytest.fixture(scope="module")
def safe(devnet):
    """A Safe with USDC, and what the SDK needs of Safe's contracts."""
    chain = Chain(devnet)
    safe = Safe(chain)
    # The SDK looks for it, though it is not used.
    chain.canonical("safe", "MultiSend")
    chain.send(token(devnet, "USDC"), erc20.TRANSFER.encode([safe.address, 2 * 10**9]), ACCOUNTS[0].address)
    return safe


@pytest.fixture
async def service():
    """URL of a server in the place of Safe's service, and the requests that it got."""
    asked = []

    async def keep(request):
        asked.append((request.method, request.path, await request.json()))
        return web.json_response({}, status=201)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", keep)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    await runner.cleanup()


async def test_a_safe_executes_what_was_proposed_to_the_base_unit(gateway, devnet, project, safe, service):
    chain, (url, asked) = safe.chain, service
    usdc, weth = token(devnet, "USDC"), token(devnet, "WETH")
    before = [balance(chain, each, safe.address) for each in (usdc, weth)]
    said = await run(
        project,
        "use-from-a-safe.md",
        "Propose a swap",
        *(gateway, devnet.urls["devnet"], safe.address, OWNER.private_key, url),
    )
    assert [balance(chain, each, safe.address) for each in (usdc, weth)] == before, "nothing is sent"
    [(method, path, body)] = asked
    assert method == "POST"
    assert path.endswith(f"/safes/{safe.address}/multisig-transactions/")
    members = [
        *(body["to"], int(body["value"]), bytes.fromhex(body["data"][2:]), body["operation"]),
        *(int(body["safeTxGas"]), int(body["baseGas"]), int(body["gasPrice"])),
        *(body["gasToken"], body["refundReceiver"]),
    ]
    # A delegate call, but of the contract that makes none itself.
    assert (body["to"], body["operation"]) == (safe.multi_send, 1)
    # The Safe's own word for what the owner signed.
    digest = chain.call(safe.address, HASH, *members, int(body["nonce"]))
    assert body["contractTransactionHash"] == "0x" + digest.hex()
    assert re.match(rf"proposed 0x{digest.hex()}: at least (\d+) base units of WETH\n", said)
    assert body["sender"] == OWNER.address
    signature = bytes.fromhex(body["signature"][2:])
    # A `v` above 30 tells the Safe that the hash was signed as a message (eth_sign).
    plain = signature[:64] + bytes([signature[64] - 4])
    assert Account.recover_message(encode_defunct(digest), signature=plain) == OWNER.address
    # Anybody may send what the owners signed.
    chain.send(safe.address, EXECUTE.encode([*members, signature]), ACCOUNTS[9].address)
    after = [balance(chain, each, safe.address) for each in (usdc, weth)]
    assert before[0] - after[0] == 10**9
    assert after[1] - before[1] >= int(said.partition("at least ")[2].split()[0]) > 0
    permitted = "allowance(address owner, address spender) returns (uint256)"
    permit2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
    assert chain.call(usdc, permitted, safe.address, permit2) == 0, "the batch uses up its own approval"


async def test_one_owner_executes_with_the_sdk_to_the_base_unit(gateway, devnet, project, safe):
    chain = safe.chain
    usdc, weth = token(devnet, "USDC"), token(devnet, "WETH")
    before = [balance(chain, each, safe.address) for each in (usdc, weth)]
    said = await run(
        project,
        "use-from-a-safe.md",
        "Execute with one owner",
        *(gateway, devnet.urls["devnet"], safe.address, OWNER.private_key),
    )
    sent, quoted = re.match(r"sent (0x[0-9a-f]{64}): (\d+) base units of WETH\n", said).groups()
    async with asyncio.timeout(60):
        while chain.rpc("eth_getTransactionReceipt", sent) is None:
            await asyncio.sleep(0.05)
    after = [balance(chain, each, safe.address) for each in (usdc, weth)]
    assert before[0] - after[0] == 10**9
    assert after[1] - before[1] == int(quoted)
