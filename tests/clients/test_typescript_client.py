"""The TypeScript client of ``clients/typescript``, in Node and in a browser, and the programs of its page."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.demo.server import own_server

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
PAGE = ROOT / "docs" / "how-to" / "use-from-typescript.md"
PROGRAMS = re.findall(r"^## (.+?)\n.*?^```ts\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
APPROVALS = (PAGE.parent / "see-and-end-approvals.md").read_text()
(END_OF_APPROVAL,) = re.findall(r"^```ts\n(.*?)^```", APPROVALS, re.MULTILINE | re.DOTALL)
# What is before the lines of that page, and shows what they have done.
BEFORE = """
import { Quoteway } from "@quoteway/client";
import { viemWallet } from "@quoteway/client/viem";
import { createPublicClient, createWalletClient, erc20Abi, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";

const account = privateKeyToAccount(process.env["KEY"] as `0x${string}`);
const { address } = account;
const node = { chain: foundry, transport: http("http://127.0.0.1:8545") };
const [signer, reader] = [createWalletClient({ account, ...node }), createPublicClient(node)];
const wallet = viemWallet(signer, reader);
const qw = new Quoteway({ baseUrl: "http://127.0.0.1:8080" });
const spender = "0x00000000000000000000000000000000000057a4";
const order = { network: "devnet", fromToken: "USDC", toToken: "WETH", amount: 10n ** 6n, address };
const quote = await qw.swaps.quote(order);
const token = quote.fromToken.address as `0x${string}`;
const abi = { address: token, abi: erc20Abi } as const;
const hash = await signer.writeContract({ ...abi, functionName: "approve", args: [spender, 7n] });
await reader.waitForTransactionReceipt({ hash });
const allowance = () => reader.readContract({ ...abi, functionName: "allowance", args: [address, spender] });
console.log(await allowance());
"""
PRINTED = {
    "A swap with viem": r"confirmed \d+\.\d+ USDC\n",
    "A swap with ethers": r"confirmed \d+\.\d+ USDC\n",
    "A bot": r"1 0x[0-9a-f]{64}\n2 0x[0-9a-f]{64}\n3 0x[0-9a-f]{64}\n",
    "To another network": r"(\w+\n)*filled\n",
}


def run(*command, cwd=CLIENT, **environment):
    """What a program prints. Fails with all that it said when it ends with an error."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-6_000:]
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """The client, compiled anew where its text has changed."""
    run("make", "--no-print-directory", "clients/typescript/dist/index.js", cwd=ROOT)


@pytest.fixture(scope="module")
def gateway():
    """The settings of a client: URLs of a gateway and of the nodes of its chains."""
    with own_server() as (url, nodes):
        yield {"GATEWAY": url, "NODE": nodes["devnet"], "NODE_L2": nodes["devnet-l2"]}


@pytest.fixture(scope="module")
def programs(tmp_path_factory, gateway):
    """The folder of a project with the programs of the page, compiled as a strict project does."""
    folder = tmp_path_factory.mktemp("project")
    modules = folder / "node_modules"
    (modules / "@quoteway").mkdir(parents=True)
    (modules / "@quoteway" / "client").symlink_to(CLIENT)
    for name in ("viem", "ethers"):
        (modules / name).symlink_to(CLIENT / "node_modules" / name)
    (folder / "package.json").write_text('{"type": "module"}')
    own = {"extends": str(CLIENT / "tsconfig.json"), "include": ["*.ts"]}
    own["compilerOptions"] = {"rootDir": ".", "outDir": "built", "incremental": False, "declaration": False}
    (folder / "tsconfig.json").write_text(json.dumps(own))
    shutil.copy(CLIENT / "tests" / "with_gateway" / "misuse.ts", folder)
    ending = ("The end of an approval", BEFORE + END_OF_APPROVAL + "console.log(await allowance());\n")
    for title, text in [*PROGRAMS, ending]:
        text = text.replace("http://127.0.0.1:8080", gateway["GATEWAY"])
        (folder / f"{title}.ts").write_text(text.replace("http://127.0.0.1:8545", gateway["NODE"]))
    run(CLIENT / "node_modules" / ".bin" / "tsc", "--tsBuildInfoFile", "null", cwd=folder)
    return folder / "built"


def test_the_types_are_those_of_the_document():
    run("node", "generate.js", "--check")


def test_without_a_gateway():
    said = run("node", "--test", "--test-reporter=spec", *sorted(CLIENT.glob("tests/*.test.js")))
    assert "ℹ fail 0" in said
    assert int(said.partition("ℹ pass ")[2].split()[0]) > 100


def test_the_page_has_a_swap_with_each_library_and_a_bot_in_under_25_lines():
    assert [title for title, _ in PROGRAMS] == list(PRINTED)
    for title, text in PROGRAMS:
        assert len([line for line in text.splitlines() if line]) < 25, title


@pytest.mark.slow
def test_flows_to_the_base_unit(gateway):
    said = run(
        *("node", "--test", "--test-reporter=spec", "tests/with_gateway/flows.test.js"),
        **gateway,
        KEY=ACCOUNTS[4].private_key,
    )
    assert "ℹ fail 0" in said
    assert int(said.partition("ℹ pass ")[2].split()[0]) >= 14


@pytest.mark.slow
@pytest.mark.parametrize("title", PRINTED)
def test_a_program_of_the_page(programs, title):
    assert re.fullmatch(PRINTED[title], run("node", f"{title}.js", cwd=programs))


@pytest.mark.slow
def test_the_lines_that_end_an_approval(programs):
    said = run("node", "The end of an approval.js", cwd=programs, KEY=ACCOUNTS[7].private_key)
    assert said == "7n\n0n\n"


@pytest.mark.services
async def test_in_a_browser(gateway, tmp_path):
    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"
    bundle = tmp_path / "page.js"
    bundling = ["--bundle", "--format=esm", "--platform=browser", f"--outfile={bundle}"]
    run(CLIENT / "node_modules" / ".bin" / "esbuild", "tests/with_gateway/page.js", *bundling)
    told = asyncio.get_running_loop().create_future()

    async def page(request):
        return web.Response(text='<script type="module" src="/page.js"></script>', content_type="text/html")

    async def settings(request):
        place = {"gateway": gateway["GATEWAY"], "node": gateway["NODE"], "key": ACCOUNTS[5].private_key}
        return web.json_response(place)

    async def redirect(request):
        raise web.HTTPFound(gateway["GATEWAY"] + request.path)

    async def hear(request):
        told.set_result(await request.json())
        return web.Response()

    app = web.Application()
    app.add_routes([web.get("/", page), web.get("/settings", settings), web.post("/told", hear)])
    app.add_routes([web.get("/v2/pools", redirect), web.static("/", tmp_path)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    process = await asyncio.create_subprocess_exec(
        chromium,
        *options,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--remote-debugging-port=0",
        f"http://127.0.0.1:{runner.addresses[0][1]}",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(120):
            found = await told
    finally:
        process.kill()
        await process.wait()
        await runner.cleanup()
    assert found == {
        "match": "match",
        "status": "confirmed",
        "vsQuoteBps": 0,
        "refused": [True, "amount_too_low"],
        "reason": "left",
        "redirected": "The server redirects to another address, which is not followed. "
        "Set baseUrl to the gateway's own address.",
    }
