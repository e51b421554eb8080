"""Calldata that does not do what the quote says leaves no gateway."""

import pytest
from curve_exchange import OWN
from quoteway import NATIVE
from quoteway_curve.executor import EXCHANGE, CurveRouter
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.exchange import assert_changes_refused, member_changed

NAMES = ("route", "swapParams", "amount", "minDy", "pools", "receiver")
OTHER = ACCOUNTS[8].address


def changed(name, change):
    return member_changed(EXCHANGE, NAMES, name, change)


def item(at, value):
    return lambda items: [value if place == at else each for place, each in enumerate(items)]


def param(place, value):
    return lambda params: [item(place, value)(params[0]), *params[1:]]


CHANGES = {
    "a lower minimum": changed("minDy", lambda amount: amount - 1),
    "no minimum": changed("minDy", lambda amount: 0),
    "more is sold": changed("amount", lambda amount: amount + 1),
    "less is sold": changed("amount", lambda amount: amount - 1),
    "another recipient": changed("receiver", lambda to: OTHER),
    "no recipient": changed("receiver", lambda to: NATIVE),
    "another token sold": changed("route", item(0, OTHER)),
    "another token bought": changed("route", item(2, OTHER)),
    "the token bought behind the end": changed(
        "route", lambda items: [*items[:2], OTHER, NATIVE, items[2], *items[5:]]
    ),
    "another pool": changed("route", item(1, OTHER)),
    "no route": changed("route", lambda items: [NATIVE] * 11),
    "another coin of the pool": changed("swapParams", param(1, 2)),
    "another kind of swap": changed("swapParams", param(2, 4)),
    "bytes behind": lambda data: data + bytes(32),
    "another function": lambda data: b"\x12\x34\x56\x78" + data[4:],
}


@pytest.mark.slow
async def test_calldata_that_is_not_that_of_the_quote_is_refused(exchange, make_gateway, monkeypatch):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("DAI", "USDC", 10**21, routing=OWN)
    await assert_changes_refused(exchange, gateway, request, CurveRouter, CHANGES, monkeypatch)
