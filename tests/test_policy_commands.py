"""``quoteway policy``: files that cannot be used, saved answers decided, and the page that describes them."""

import json
import re
from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pytest
import quoteway
from click.testing import CliRunner
from policy_rules import tight, toml
from quoteway.config.loading import load_config
from quoteway.errors import ConfigError
from quoteway.guard.policy_file import MAX_FILE_BYTES, Rule, parse_policy
from quoteway.server.cli import main

RECORDED = Path(quoteway.__file__).parent / "web" / "http" / "openapi_examples.json"
PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "restrict-what-may-be-signed.md").read_text()
NAMED = '[[rules]]\nname = "a"\n'
ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def limits(*names):
    """A rule with amounts per time of these names."""
    limit = '{network = "base", token = "native", amount = "1.5", window_s = 60, per = "sender", name = '
    return NAMED + "amounts_per_time = [" + ", ".join(f'{limit}"{name}"}}' for name in names) + "]\n"


@pytest.fixture
def action():
    """The answer of an action request that the OpenAPI document shows."""
    return json.loads(RECORDED.read_text())["createSwapAction"]["answer"]


@pytest.fixture
def run(tmp_path):
    def invoke(rules, *answers, options=()):
        (tmp_path / "policy.toml").write_text(rules if isinstance(rules, str) else toml(*rules))
        files = []
        for number, answer in enumerate(answers):
            files.append(tmp_path / f"{number}.json")
            files[-1].write_text(answer if isinstance(answer, str) else json.dumps(answer))
        command = ["policy", "test", *options, str(tmp_path / "policy.toml"), *map(str, files)]
        return CliRunner().invoke(main, command)

    return invoke


# --- the command --------------------------------------------------------------------------------------------


def test_saved_answers_are_decided(run, action):
    rule = tight(action)
    assert run([rule], action, action).exit_code == 0
    result = run([rule | {"kinds": ["vault"], "providers": []}], action)
    assert result.exit_code == 1
    first, *others = result.output.splitlines()
    assert first.endswith("0.json: refused")
    assert [line.split(":")[0].strip() for line in others] == ["kinds", "providers"]
    result = run([rule | {"kinds": ["vault"]}], action, options=["--json"])
    (row,) = json.loads(result.output)
    assert (row["allowed"], [each["rule"] for each in row["violations"]]) == (False, ["kinds"])


def test_the_level_is_given_with_an_option(run, action):
    rule = tight(action) | {"least_level": 2}
    provider = action["provider"]
    assert run([rule], action).exit_code == 1
    assert run([rule], action, options=[f"--level={provider}=2"]).exit_code == 0
    assert run([rule], action, options=[f"--level={provider}=1"]).exit_code == 1
    for wrong in (provider, f"{provider}=4", "=2", f"{provider}=two"):
        result = run([rule], action, options=[f"--level={wrong}"])
        assert (result.exit_code, "uniswap=2" in result.output) == (2, True)


def test_the_quorum_is_given_with_an_option(run, action):
    rule, network = tight(action) | {"quorum": 2}, action["network"]
    assert "is not known, and 2 is required" in run([rule], action).output
    assert run([rule], action, options=[f"--quorum={network}=2"]).exit_code == 0
    assert run([rule], action, options=[f"--quorum={network}=1"]).exit_code == 1
    for wrong in (network, f"{network}=17", "=2", f"{network}=١"):
        result = run([rule], action, options=[f"--quorum={wrong}"])
        assert (result.exit_code, "ethereum=2" in result.output) == (2, True)


def test_what_counts_as_used_is_given_with_an_option(run, action):
    """No store is asked: each file is decided by itself."""
    leg = action["inputs"][0]
    amount = Decimal(leg["amountMax"] or leg["amount"]).scaleb(-leg["token"]["decimals"])
    limit = {"network": action["network"], "token": leg["token"]["address"], "amount": str(amount + 2)}
    rule = tight(action) | {"amounts_per_time": [limit | {"name": "a = b", "window_s": 3600, "per": "rule"}]}
    assert run([rule], action, action).exit_code == 0
    assert run([rule], action, options=["--used=a = b=2"]).exit_code == 0
    result = run([rule], action, options=["--used=a = b=2.000001"])
    assert result.exit_code == 1
    assert "  amounts_per_time: it takes" in result.output
    for wrong in ("a=2", "a = b", "a = b=", "a = b=-1", "a = b=x"):
        result = run([rule], action, options=[f"--used={wrong}"])
        assert (result.exit_code, "expected one of a = b and whole tokens" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "is no answer of an action request"),
        ("null", "is no answer of an action request"),
        ({"error": {"code": "validation_error"}}, "it has no member 'inputs'"),
        ("[" * 100_000, "is no JSON"),
        ('{"inputs": ' + "[" * 900 + "]" * 900 + "}", "is no answer of an action request"),
    ],
)
def test_what_is_no_answer_is_said_so(run, answer, words):
    result = run(NAMED, answer)
    assert result.exit_code == 2
    assert words in result.output


def test_calls_nested_without_end_are_not_followed(run, action):
    call = {"signature": "f()", "args": []}
    for _ in range(200):
        call = {"signature": "f()", "args": [], "inner": [call]}
    action["steps"][0]["decoded"] = call
    result = run(NAMED, action)
    assert (result.exit_code, "nested more than" in result.output) == (2, True)
    assert run(NAMED, {**action, "steps": []}).exit_code == 2


def test_a_file_is_shown_rule_by_rule(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text(NAMED + 'kinds = ["swap"]\nrecipients = {}\nmax_amounts = {devnet = {native = "0.5"}}\n')
    result = CliRunner().invoke(main, ["policy", "check", str(file)])
    assert result.exit_code == 0
    assert "rule 'a', for every other account" in result.output
    assert "  kinds: swap\n" in result.output
    assert "  recipients: nothing\n" in result.output
    assert "native: 0.5" in result.output
    assert "not restricted: networks, providers" in result.output
    file.write_text(limits("a"))
    result = CliRunner().invoke(main, ["policy", "check", str(file)])
    expected = "{name a, network base, token native, amount 1.5, window_s 60, per sender}"
    assert f"  amounts_per_time: {expected}\n" in result.output
    assert "screening: every plugin that is enabled\n" in result.output
    file.write_text('[screening]\nplugins = ["list"]\nrequired = true\n' + NAMED)
    result = CliRunner().invoke(main, ["policy", "check", str(file)])
    assert "screening: list, at least one plugin is required\n" in result.output
    file.write_text(NAMED + "kind = 5")
    result = CliRunner().invoke(main, ["policy", "check", str(file)])
    assert (result.exit_code, "unknown key. Did you mean 'kinds'?" in result.output) == (2, True)
    result = CliRunner().invoke(main, ["policy", "check", str(tmp_path / "none.toml")])
    assert (result.exit_code, "cannot be read" in result.output) == (2, True)
    file.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    result = CliRunner().invoke(main, ["policy", "check", str(file)])
    assert (result.exit_code, "is larger than" in result.output) == (2, True)


# --- the file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "rules: Missing data"),
        ("rules = []", "rules: Shorter than minimum length 1"),
        ("[[rules]]", "rules.0.name: Missing data"),
        ("x = " + "[" * 100_000, "not valid TOML"),
        ("\N{SNOWMAN}", "not valid TOML"),
        (NAMED + NAMED, "two have the same name"),
        (NAMED + '[[rules]]\nname = "b"', "'a' has no senders, so the rules after it never decide"),
        (NAMED + f'senders = ["{ACCOUNT[:-1]}7"]', "EIP-55 checksum of this address is wrong"),
        (NAMED + 'senders = ["vitalik.eth"]', "is no address"),
        (NAMED + "senders = [5]", "expected an address: 0x"),
        (NAMED + 'pay = ["native"]', "expected a table by network"),
        (NAMED + 'pay = {"Base" = []}', "no network name"),
        (NAMED + 'spenders = {base = ["native"]}', "is no address"),
        (NAMED + 'spenders = {base = ["sender"]}', "is no address"),
        (NAMED + "functions = [5]", 'expected "approve(address,uint256)"'),
        (NAMED + 'functions = ["approve"]', "is no function"),
        (NAMED + 'functions = ["0x095ea7"]', "is no function"),
        (NAMED + "max_amounts = {base = {native = 0.5}}", "expected a number of whole tokens"),
        (NAMED + 'max_amounts = {base = {native = "-1"}}', "expected a number of whole tokens"),
        (NAMED + 'max_amounts = {base = {native = "1e3"}}', "expected a number of whole tokens"),
        (NAMED + f"max_amounts = {{base = {{{ACCOUNT} = 1, {ACCOUNT.lower()} = 2}}}}", "names a token twice"),
        (NAMED + "max_amounts = {base = 5}", "expected amounts by token"),
        (NAMED + "max_slippage_bps = 10001", "rules.0.max_slippage_bps"),
        (NAMED + "quorum = 0", "rules.0.quorum"),
        ('[screening]\nplugin = "a"\n' + NAMED, "screening.plugin: unknown key. Did you mean 'plugins'?"),
        ('[screening]\nrequired = "yes"\n' + NAMED, "screening.required"),
        (limits("a", "a").replace("60", "61", 1), "amounts_per_time: two have the same name"),
        (limits("a", "b"), "rule 'a': two amounts_per_time have the same network, token, window_s and per"),
        (NAMED + "amounts_per_time = [{}]", "rules.0.amounts_per_time.0.network: Missing data"),
        (limits("a").replace("60", "59"), "rules.0.amounts_per_time.0.window_s"),
        (limits("a").replace("sender", "day"), "rules.0.amounts_per_time.0.per"),
        (limits("a").replace('"1.5"', "1.5"), "expected a number of whole tokens"),
        (NAMED + 'require_simulation = "yes"', "rules.0.require_simulation"),
    ],
)
def test_a_file_that_says_something_else_than_it_seems_is_refused(text, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        parse_policy(text.encode(), "policy.toml")


def test_the_digest_is_that_of_the_bytes():
    one, other = (parse_policy((NAMED + end).encode(), "a").digest for end in ("", "\n"))
    assert re.fullmatch("sha256:[0-9a-f]{64}", one)
    assert one != other


def test_a_function_is_named_by_its_selector_or_any_declaration_of_it():
    text = 'functions = ["0x095EA7B3", "approve(address,uint256)", "approve(address spender, uint amount)"]'
    (rule,) = parse_policy((NAMED + text).encode(), "policy.toml").rules
    assert {*rule.functions} == {"0x095ea7b3"}


# --- the page -----------------------------------------------------------------------------------------------


def test_the_page_describes_every_member_and_its_examples_can_be_used(tmp_path):
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(told) == sorted(each.name for each in fields(Rule))
    settings, example, limit, store, screening, audited = re.findall(
        r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    environ = {"KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
    path = tmp_path / "quoteway.toml"
    for text, audit in ((settings, None), (store, None), (audited, tmp_path / "decisions.jsonl")):
        path.write_text(text + '[quotes]\nkeys = [{id = "k", secret = {env = "KEY"}}]\n')
        config = load_config(path, environ)
        assert (config.policy_file, config.policy_audit) == (tmp_path / "policy.toml", audit)
    (rule,) = parse_policy(example.encode(), "policy.toml").rules
    assert (rule.name, rule.recipients) == ("treasury", {})
    assert parse_policy(limit.encode(), "policy.toml").limits[0].amount == 100_000
    assert parse_policy((screening + example).encode(), "policy.toml").screening.required
