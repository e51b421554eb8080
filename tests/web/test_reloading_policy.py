"""SIGHUP with a policy that cannot be used: the old one decides, also in workers that are started again."""

import hashlib
import json
import os
import signal
import time
import urllib.error
import urllib.request

import pytest

for plugin in ("devnet", "rpc", "uniswap"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about actions of a real swap")

from direct_client import USER  # noqa: E402
from test_operator_of_workers import OPERATORS, bearer, table  # noqa: E402
from test_serving import KEY, living, serve, worker_pids  # noqa: E402, F401

pytestmark = pytest.mark.slow

ALLOWS = '[[rules]]\nname = "treasury"\nkinds = ["swap"]\n'
REFUSES = '[[rules]]\nname = "treasury"\nkinds = ["bridge"]\n'


def digest(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def desk(serve, devnet, tmp_path):  # noqa: F811
    """A deployment of two workers over the devnet, with a policy that allows swaps."""
    ports = f"port = {devnet.ports['devnet']}\nl2_port = {devnet.ports['devnet-l2']}\nrelayer_port = 1"
    config = (
        'plugins.load = ["devnet", "rpc", "tokenlist", "uniswap"]\n'
        'quotes.keys = [{id = "a", secret = {env = "KEY"}}]\nquotes.competition_timeout_s = 30.0\n'
        "limits.enabled = false\n"
        f"[plugin.devnet]\nenabled = true\nstart = false\n{ports}\n"
        + table("ops", OPERATORS, 'tier = "operator"')
    )

    def write(policy='[policy]\nfile = "policy.toml"\n'):
        (tmp_path / "quoteway.toml").write_text(config + policy)

    write()
    (tmp_path / "policy.toml").write_text(ALLOWS)
    served = serve("--workers", "2")
    served.url(workers=2)
    served.lines("Quoteway is serving")
    served.write, served.policy = write, tmp_path / "policy.toml"
    return served


def ask(url, path, body=None):
    """Status and answer, over a connection of its own: any worker may get it."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Connection": "close", **bearer(OPERATORS)}
    ends_at = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url + path, data, headers), timeout=60
            ) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            found = json.load(error)
            starts = "The service is starting", "it starts or has ended"
            if not any(each in json.dumps(found) for each in starts) or time.monotonic() > ends_at:
                return error.code, found
            time.sleep(0.1)


def decided_by(url, devnet):
    """The digests by which several actions are allowed; None where one is refused."""
    usdc = devnet.chains["devnet"].token("USDC").address
    body = {"network": "devnet", "fromToken": usdc, "toToken": "native", "amount": "1000000", "address": USER}
    found = set()
    for _ in range(6):
        status, quote = ask(url, "/v2/swaps/quote", body)
        assert status == 200, quote
        status, action = ask(url, f"/v2/swaps/{quote['quoteId']}/action", {})
        assert status in (201, 403), action
        found.add(action["policy"]["digest"] if status == 201 else None)
    return found


def reload(served, said):
    before = len(served.lines(said, 0))
    served.process.send_signal(signal.SIGHUP)
    served.lines(said, before + 1)


def states(url):
    return [ask(url, f"/operator/state?worker={number}")[1] for number in (0, 1)]


def test_a_policy_that_cannot_be_used_leaves_the_old_one_in_force(desk, devnet):
    url, workers = desk.url(), worker_pids(desk.process.pid)
    assert decided_by(url, devnet) == {digest(ALLOWS)}
    assert [(each["policy"], each["reload"]) for each in states(url)] == [(digest(ALLOWS), None)] * 2

    def refused(said, outcome="refused"):
        for state in states(url):
            assert state["policy"] == digest(ALLOWS)
            assert state["reload"]["outcome"] == outcome
            assert said in state["reload"]["why"]
            assert KEY not in json.dumps(state)
        assert said in desk.log.read_text()
        assert sorted(living(workers)) == sorted(worker_pids(desk.process.pid)) == sorted(workers)

    kept = "the configuration is not reloaded, the old one stays in force"
    cases = {
        "": "rules: ",
        "[[rules": "not valid TOML",
        '[[rules]]\nname = "a"\nkind = []\n': "Did you mean 'kinds'",
    }
    for content, said in cases.items():
        desk.policy.write_text(content)
        reload(desk, kept)
        refused(said)
    assert decided_by(url, devnet) == {digest(ALLOWS)}
    desk.policy.unlink()
    reload(desk, kept)
    refused("policy.toml cannot be read: No such file")
    desk.policy.mkdir()
    reload(desk, kept)
    refused("policy.toml cannot be read: Is a directory")
    desk.policy.rmdir()
    # What only a worker sees, with its plugins.
    desk.policy.write_text('[[rules]]\nname = "a"\nnetworks = ["devnett"]\n')
    reload(desk, "new worker 0 did not get ready")
    refused("network 'devnett' is unknown. Did you mean 'devnet'")
    assert decided_by(url, devnet) == {digest(ALLOWS)}

    desk.policy.unlink()  # a worker that is started again has no file either
    os.kill(workers[0], signal.SIGKILL)
    desk.lines("ended with status -9")
    desk.lines(r"listening on", 3)  # two at the start, and this
    assert decided_by(url, devnet) == {digest(ALLOWS)}

    desk.policy.write_text(REFUSES)
    reload(desk, '"reloaded"')
    assert decided_by(url, devnet) == {None}
    for state in states(url):
        assert (state["policy"], state["reload"]["outcome"]) == (digest(REFUSES), "reloaded")
        assert state["reload"]["why"] is None


def test_a_policy_ends_with_a_reload_alone(desk, devnet):
    """A configuration without it, which is not in force yet, is not that of a worker that starts again."""
    url, workers = desk.url(), worker_pids(desk.process.pid)
    desk.write(policy="")
    os.kill(workers[0], signal.SIGKILL)
    desk.lines("ended with status -9")
    desk.lines(r"listening on", 3)
    assert decided_by(url, devnet) == {digest(ALLOWS)}
    reload(desk, '"reloaded"')
    assert ask(url, "/operator/state")[1]["policy"] is None
