import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from ports import answers, closes
from quoteway_devnet.command import demo
from quoteway_devnet.demo.scenarios import OPERATION_SCENARIOS, SENDER, SWAP_SCENARIOS
from quoteway_devnet.demo.server import gateway_over
from quoteway_devnet.relayer import Relayer

pytest.importorskip("quoteway_uniswap", reason="the demo swaps through Uniswap")
pytest.importorskip("quoteway_erc4626", reason="the demo deposits into vaults")
pytest.importorskip("quoteway_managedvault", reason="the demo deploys a managed vault")
pytest.importorskip("quoteway_across", reason="the demo crosses chains through Across")
pytest.importorskip("quoteway_rpc", reason="the gateway reads the chains through the RPC plugin")
pytest.importorskip("quoteway_tokenlist", reason="the demo finds its tokens in the served catalog")


def run_demo(*options):
    command = [sys.executable, "-m", "quoteway", "demo", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)


@pytest.fixture(scope="module")
def done():
    return run_demo()


def narrated(said):
    """Return scenario title -> printed text."""
    parts = re.split(r"^\d+\. (.+)$", said, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def differences(said):
    """Return title -> differences in base units."""
    said = said.partition("Quoted and received")[0]
    return {title: re.findall(r"difference (-?\d+)", text) for title, text in narrated(said).items()}


def all_exact(said):
    found = differences(said)
    assert list(found) == [each.title for each in (*SWAP_SCENARIOS, *OPERATION_SCENARIOS)]
    assert all(found[scenario.title] == ["0"] for scenario in SWAP_SCENARIOS)
    return all(set(found[scenario.title]) == {"0"} for scenario in OPERATION_SCENARIOS)


@pytest.mark.slow
def test_every_scenario_gives_what_was_quoted(done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert all_exact(done.stdout)
    # The table has every scenario's row too.
    assert all(done.stdout.count(scenario.title) >= 2 for scenario in SWAP_SCENARIOS)
    assert "\x1b" not in done.stdout, "no colour codes where there is no terminal"
    for port in re.findall(r"http://127\.0\.0\.1:(\d+)", done.stdout):
        assert closes(int(port)), "what the demo started it has stopped"


@pytest.mark.slow
def test_the_swap_scenarios_print_their_properties(done):
    text = narrated(done.stdout)
    for kind in ("v2", "v3", "v4"):
        assert re.search(rf" by {kind} [\d.]+ %, at", text[f"{kind}, one hop"])
    (mixed,) = re.findall(r" by (.+), at block", text["several hops, kinds mixed"])
    assert len({hop.split()[0] for hop in mixed.split(" > ")}) > 1
    assert re.search(r"quote +[\d,.]+ ETH for", text["native coin in"])
    assert re.search(r"for [\d,.]+ ETH by", text["native coin out"])
    assert "typed data" in text["Permit2 by signature"]
    assert "Reset the allowance" in text["USDT-like, allowance left over"]


@pytest.mark.slow
def test_the_operation_scenarios_print_their_properties(done):
    text = narrated(done.stdout.partition("Quoted and received")[0])
    pools = {
        scenario.protocol: text[scenario.title]
        for scenario in OPERATION_SCENARIOS
        if hasattr(scenario, "protocol")
    }
    assert "UNI-V2, difference 0" in pools["uniswap-v2"]
    for kind in ("v3", "v4"):
        told = pools[f"uniswap-{kind}"]
        assert re.search(r"position  NFT \d+: ", told)
        (owed,) = set(re.findall(r"uncollected fees: .*?([\d.]*[1-9]) [A-Z]+$", told, re.MULTILINE))
        assert f"received  {owed} " in told.partition("Collect fees")[2], "what was owed was collected"
    assert "position  none is left" in pools["uniswap-v2"]
    assert "position  none is left" in pools["uniswap-v4"]
    told = "".join(text.values())
    assert "shares    0 left" in told
    assert re.search(r"deployed  at the predicted address 0x\w{40}, difference 0", told)
    assert "role_required" in told
    assert "approval mismatch: data differ; confirmed" in told
    assert "approval match; confirmed" in told
    assert "deposit match; confirmed, 0 bps beside the quote" in told
    for scenario in OPERATION_SCENARIOS:
        if hasattr(scenario, "target"):
            states = re.findall(r"transfer  (\w+)", text[scenario.title])
            assert states[-1] == "filled"
            assert set(states) <= {"unknown", "origin_pending", "origin_confirmed", "fill_pending", "filled"}
    for provider in ("erc4626: fungible", "managedvault: fungible", "uniswap: nft"):
        assert provider in text["portfolio"]


@pytest.mark.parametrize("retry_after", ["3600", "-1", "0", "soon"])
def test_a_gateway_that_limits_for_ever_is_an_error(monkeypatch, retry_after):
    from quoteway_devnet.demo import clients
    from quoteway_devnet.demo.errors import DemoError

    slept = []
    monkeypatch.setattr(clients.time, "sleep", slept.append)
    monkeypatch.setattr(clients, "_send", lambda *_: (429, {"retry-after": retry_after}, b""))
    with pytest.raises(DemoError, match=r"more than 120 s; raise `limits.quotes`"):
        clients.Gateway("http://127.0.0.1:1", lambda seconds: None).get("/v2/pools")
    assert sum(slept) <= 120


@pytest.mark.slow
def test_against_a_running_gateway_with_rate_limits(fresh):
    port = fresh.ports["devnet-l2"] + 1  # where the gateway looks for it
    # Callers of this machine have ten times as many: 60 at once, then one a second. The demo asks about 120.
    with Relayer.running(fresh, port), gateway_over(fresh, QUOTEWAY_LIMITS__QUOTES="6/minute") as url:
        done = run_demo("--url", url, *nodes_of(fresh))
        assert done.returncode == 0, done.stdout + done.stderr
        assert all_exact(done.stdout)
        assert "rate limit" in done.stdout
        swapped = ("--node", fresh.urls["devnet-l2"], "--l2-node", fresh.urls["devnet"])
        assert_refused(run_demo("--url", url, *swapped), "serves chain 31338", "--node")
    assert all(answers(port) for port in fresh.ports.values()), "what was running is left running"


@pytest.mark.slow
def test_no_gateway_is_one_sentence_with_the_remedy():
    assert_refused(run_demo("--url", "http://127.0.0.1:1"), "No gateway answers", "quoteway serve")


@pytest.mark.slow
def test_an_invalid_url_is_one_sentence_with_the_remedy():
    assert_refused(run_demo("--url", "nonsense"), "nonsense", "quoteway serve")


def test_another_server_is_one_sentence_with_the_remedy(devnet):
    # A chain's node answers JSON, and it is no gateway.
    assert_refused(run_demo("--url", devnet.urls["devnet"]), "no Quoteway gateway", "--url")


@pytest.mark.slow
def test_a_node_of_another_devnet_is_noticed_before_anything_is_signed(fresh):
    from quoteway_devnet.chains import Devnet

    with Devnet.running() as other, gateway_over(fresh) as url:
        assert_refused(
            run_demo("--url", url, *nodes_of(other)), "different chains", "point the demo at the node"
        )


@pytest.mark.slow
def test_a_difference_of_one_base_unit_fails_the_demo(fresh, monkeypatch):
    from quoteway_devnet.demo import run, wallet

    scenario = next(scenario for scenario in SWAP_SCENARIOS if scenario.title == "v4, one hop")
    monkeypatch.setattr(run, "SWAP_SCENARIOS", (scenario,))
    monkeypatch.setattr(run, "OPERATION_SCENARIOS", ())
    send = wallet.Wallet.send

    def send_and_give(self, transaction, gas_limit):
        # One base unit from elsewhere, of whatever arrives: of every token but the one that is sold.
        for token in fresh.chains["devnet"].tokens:
            if token.address != transaction["to"] and token.behaviour != "wrapped":
                fresh.faucet(token.address, scenario.recipient, 1)
        return send(self, transaction, gas_limit)

    terminated = signal.getsignal(signal.SIGTERM)
    try:
        with gateway_over(fresh) as url:
            assert CliRunner().invoke(demo, ["--url", url, *nodes_of(fresh)]).exit_code == 0
            monkeypatch.setattr(wallet.Wallet, "send", send_and_give)
            done = CliRunner().invoke(demo, ["--url", url, *nodes_of(fresh)])
    finally:
        signal.signal(signal.SIGTERM, terminated)
    assert done.exit_code == 1
    (found,) = differences(done.output.partition("Quoted and received")[0])[scenario.title]
    assert int(found) > 0
    assert "did not give what was quoted" in done.output


@pytest.mark.slow
def test_a_balance_that_is_not_the_chains_fails_the_demo(fresh, monkeypatch):
    from quoteway_devnet.demo import checks, run

    monkeypatch.setattr(run, "SWAP_SCENARIOS", ())
    monkeypatch.setattr(run, "OPERATION_SCENARIOS", OPERATION_SCENARIOS[-1:])
    terminated = signal.getsignal(signal.SIGTERM)
    block_of = checks.block_of

    def block_and_gift(balances):
        # Between the gateway's answer and the node's somebody sends a unit.
        fresh.faucet("USDC", SENDER.address, 1)
        return block_of(balances)

    try:
        with gateway_over(fresh) as url:
            assert CliRunner().invoke(demo, ["--url", url, *nodes_of(fresh)]).exit_code == 0
            monkeypatch.setattr(checks, "block_of", block_and_gift)
            done = CliRunner().invoke(demo, ["--url", url, *nodes_of(fresh)])
    finally:
        signal.signal(signal.SIGTERM, terminated)
    assert done.exit_code == 1
    assert "did not give what was quoted: portfolio" in done.output


def nodes_of(devnet):
    return "--node", devnet.urls["devnet"], "--l2-node", devnet.urls["devnet-l2"]


def assert_refused(done, *fragments):
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    for fragment in fragments:
        assert fragment in line


def test_serving_imports_no_signing_code():
    """The command is registered, and the signing code is not imported."""
    code = (
        "import sys, quoteway.server.cli as c, quoteway_devnet.plugin as p;"
        "list(p.quoteway_commands()); c.main.list_commands(c.click.Context(c.main));"
        "import quoteway_devnet.command, quoteway_devnet.chains;"
        "print([m for m in sys.modules if m.startswith(('eth_account', 'web3', 'quoteway_devnet.demo'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "[]\n", done.stderr
