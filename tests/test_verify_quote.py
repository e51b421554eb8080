"""``quoteway verify-quote``: a saved answer against the chain, in a process apart from the server."""

import asyncio
import copy
import json
import os
import sys

import pytest
import quoteway_devnet.plugin
import quoteway_rpc
import quoteway_uniswap
from quoteway.config.model import Config, QuotesConfig
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.shared import shared_by

KEY = {"KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
ISOLATING = """
[plugins]
isolate = ["uniswap"]
[quotes]
keys = [{id = "a", secret = {env = "KEY"}}]
[plugin.devnet]
enabled = true
start = false
"""
PLUGINS = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "uniswap": quoteway_uniswap}


@pytest.fixture
async def ask(fresh_devnet, serve_app, contract, monkeypatch):
    """``await ask(**members)`` gives a quote of 300 ETH with its certificate, as the API answers it."""
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    sections = {"devnet": {"enabled": True, "start": False, **ports}}
    config = Config(plugin_sections=sections, quotes=QuotesConfig(competition_timeout_s=60.0))
    api = await serve_app(PLUGINS, config)
    (entry,) = (entry for entry in api.gateway.registry.plugins if entry.name == "uniswap")
    solvers = shared_by(entry.context).splitting.solvers
    async with asyncio.timeout(60):
        while not solvers._idle:
            await asyncio.sleep(0.05)
    usdc = fresh_devnet.chains["devnet"].token("USDC").address
    body = {"network": "devnet", "fromToken": "native", "toToken": usdc, "amount": str(300 * 10**18)}
    body |= {"address": ACCOUNTS[4].address, "certificate": "full"}

    async def ask(**members):
        return contract.check("createSwapQuote", await api.post("/v2/swaps/quote", body | members))

    return ask


@pytest.fixture
async def answer(ask):
    return await ask()


@pytest.fixture
def verify(tmp_path, fresh_devnet):
    """``await verify(answer)`` gives (exit status, lines, the error)."""

    async def run(answer, url=None):
        file = tmp_path / "quote.json"
        file.write_text(answer if isinstance(answer, str) else json.dumps(answer))
        command = [sys.executable, "-m", "quoteway", "verify-quote", str(file)]
        command += ["--rpc", url or fresh_devnet.urls["devnet"]]
        kept = {name for name in os.environ if not name.startswith("QUOTEWAY_")} | {"QUOTEWAY_CACHE_DIR"}
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name in kept} | KEY,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode, out.decode().splitlines(), err.decode()

    return run


@pytest.mark.slow
async def test_an_answer_is_verified_where_the_server_isolates_the_provider(answer, verify, tmp_path):
    (tmp_path / "quoteway.toml").write_text(ISOLATING)
    status, lines, error = await verify(answer)
    assert (status, error) == (0, "")
    assert lines


@pytest.mark.slow
async def test_a_saved_answer_is_verified_line_by_line(answer, verify):
    assert len(answer["route"]["legs"]) > 1
    status, lines, error = await verify(answer)
    assert (status, error) == (0, "")
    subjects = [line.split()[1] for line in lines if line.startswith("ok")]
    assert subjects == ["block:", "pools:", "states:", "bound:", "route:", "gap:"]
    assert answer["optimality"]["bound"] in "\n".join(lines)
    assert lines[-1].startswith("not checked: netGapBps and arbitrage")


@pytest.mark.slow
async def test_an_answer_with_a_fee_is_verified_after_the_fee(ask, verify):
    answer = await ask(feeBps=25, feeRecipient=ACCOUNTS[5].address)
    status, lines, error = await verify(answer)
    assert (status, error) == (0, ""), lines
    (fee,) = (fee for fee in answer["fees"] if fee["kind"] == "integrator")
    status, lines, _ = await verify(answer | {"fees": [fee | {"bps": 24}]})
    assert status == 1
    assert [line.split()[1] for line in lines if line.startswith("WRONG")] == ["bound:", "route:"]


@pytest.mark.slow
async def test_an_exact_output_is_verified_by_the_least_input(ask, verify):
    answer = await ask(side="exactOut", amount=str(900_000 * 10**6))
    assert len(answer["route"]["paths"]) > 1
    bound, taken = int(answer["optimality"]["bound"]), int(answer["fromAmount"])
    assert 0 < bound <= taken
    status, lines, error = await verify(answer)
    assert (status, error) == (0, ""), lines
    assert [line.split()[1] for line in lines if line.startswith("ok")] == [
        "block:", "pools:", "states:", "bound:", "route:", "gap:",
    ]  # fmt: skip
    assert "verified: no trade through these pools buys as much for less than the bound" in lines
    for members, wrong in (
        ({"toAmountMin": str(900_001 * 10**6)}, ["bound:", "route:"]),
        ({"fromAmount": str(taken - 1)}, ["route:"]),
        ({"toAmount": str(int(answer["toAmount"]) + 1)}, ["route:"]),
        ({"side": "exactIn"}, ["bound:", "route:", "gap:"]),
    ):
        status, lines, _ = await verify(answer | members)
        assert (status, [line.split()[1] for line in lines if line.startswith("WRONG")]) == (1, wrong)


@pytest.mark.slow
async def test_a_changed_answer_is_refused(answer, verify):
    changed = copy.deepcopy(answer)
    changed["optimality"]["bound"] = str(int(answer["optimality"]["bound"]) - 1)
    status, lines, error = await verify(changed)
    assert (status, error) == (1, "")
    assert [line.split()[1] for line in lines if line.startswith("WRONG")] == ["bound:"]
    changed = copy.deepcopy(answer)
    changed["optimality"]["certificate"]["pools"][0]["digest"] = "0x" + "00" * 32
    status, lines, _ = await verify(changed)
    assert status == 1
    assert [line.split()[1] for line in lines if line.startswith("WRONG")] == ["states:"]


@pytest.mark.slow
async def test_what_cannot_be_checked_is_told_with_the_remedy(answer, verify):
    without = copy.deepcopy(answer)
    del without["optimality"]["certificate"]
    gone = copy.deepcopy(answer)
    gone["block"]["hash"] = gone["optimality"]["block"]["hash"] = "0x" + "ab" * 32
    for changed, told, url in (
        (without, '"certificate": "full"', None),
        (answer | {"provider": "another"}, "no loaded plugin has the swap provider", None),
        (answer | {"chainId": 987654}, "chain 987654 is unknown", None),
        (gone, "archive node", None),
        (answer, "no usable answer", "http://127.0.0.1:9"),
        ("{", "is no JSON", None),
        ("[" * 100_000, "is no JSON", None),
        (answer | {"toAmount": -5}, "is no answer of POST /v2/swaps/quote", None),
    ):
        status, lines, error = await verify(changed, url)
        assert (status, lines) == (2, []), told
        assert told in error
        assert "Traceback" not in error


@pytest.mark.slow
async def test_a_node_of_another_chain_is_refused(answer, verify, fresh_devnet):
    status, _, error = await verify(answer, fresh_devnet.urls["devnet-l2"])
    assert status == 2
    assert "another chain" in error
