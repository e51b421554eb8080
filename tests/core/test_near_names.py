"""Which name is suggested for an unknown one."""

import pytest
from quoteway.near_names import near_name, suggestion

MEMBERS = ["address", "amount", "fromToken", "toToken", "network", "slippageBps", "recipient"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("adress", MEMBERS, "address"),
        ("from_token", MEMBERS, "fromToken"),
        ("Amount", MEMBERS, "amount"),
        ("slippage", MEMBERS, "slippageBps"),
        ("prot", ["host", "port", "workers"], "port"),
        ("rpcs", ["rpc", "name"], "rpc"),
        ("etherum", ["base", "ethereum", "devnet"], "ethereum"),
        ("x" * 10**6, MEMBERS, None),
        ("account", MEMBERS, None),
        ("token", MEMBERS, None),
        ("recent", MEMBERS, None),
        ("polygon", ["base", "optimism", "ethereum"], None),
        ("log", ["host", "port"], None),
        ("", MEMBERS, None),
        ("anything", [], None),
    ],
)
def test_only_a_near_name_is_suggested(name, known, meant):
    assert near_name(name, known) == meant


def test_without_a_near_name_all_are_listed():
    assert suggestion("prot", ["host", "port"]) == " Did you mean 'port'?"
    assert suggestion("colour", ["host", "port"]) == " Known: host, port."
    assert suggestion("colour", []) == " Known: none."
