"""Calldata that does not do what the quote says leaves no gateway."""

import pytest
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.exchange import assert_changes_refused, member_changed
from quoteway_solidly.executor import TOKENS_FOR_TOKENS, SolidlyRouter
from solidly_exchange import OWN

NAMES = ("amountIn", "amountOutMin", "routes", "to", "deadline")


def changed(name, change):
    return member_changed(TOKENS_FOR_TOKENS, NAMES, name, change)


def route(at, place, value):
    def apply(routes):
        found = [list(each) for each in routes]
        found[at][place] = value(found[at][place]) if callable(value) else value
        return [tuple(each) for each in found]

    return apply


CHANGES = {
    "a lower minimum": changed("amountOutMin", lambda amount: amount - 1),
    "no minimum": changed("amountOutMin", lambda amount: 0),
    "more is sold": changed("amountIn", lambda amount: amount + 1),
    "less is sold": changed("amountIn", lambda amount: amount - 1),
    "another recipient": changed("to", lambda to: ACCOUNTS[8].address),
    "no deadline": changed("deadline", lambda deadline: 2**256 - 1),
    "another token sold": changed("routes", route(0, 0, ACCOUNTS[8].address)),
    "another token bought": changed("routes", route(-1, 1, ACCOUNTS[8].address)),
    "another pool": changed("routes", route(0, 2, lambda stable: not stable)),
    "another factory": changed("routes", route(0, 3, ACCOUNTS[8].address)),
    "no route": changed("routes", lambda routes: []),
    "bytes behind": lambda data: data + bytes(32),
    "another function": lambda data: b"\x12\x34\x56\x78" + data[4:],
}


@pytest.mark.slow
async def test_calldata_that_is_not_that_of_the_quote_is_refused(exchange, make_gateway, monkeypatch):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("DAI", "USDC", 10**21, routing=OWN)
    await assert_changes_refused(exchange, gateway, request, SolidlyRouter, CHANGES, monkeypatch)
