"""Answers whose members are not of the declared type: refused before anything is rendered."""

from dataclasses import dataclass, replace

import pytest
from guard_cases import QUOTE, REQUEST, Provider, check, leg, plain, step
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.model_types import MAX_ITEMS, flaw
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    DeploymentTerms,
    Fee,
    Gas,
    Issue,
    Notice,
    Preview,
    RefundTerms,
    RoutePath,
    Series,
    TransferTerms,
    TransferTracking,
)
from sold_usdc import BLOCK, NOW, ROUTER, THIEF, USDC, USER, WETH

PROMISE = RefundTerms(1, USDC.address, USER)
ODD_TERMS = [
    (replace(PROMISE, token=object()), "token"),
    (replace(PROMISE, address=b"raw"), "address"),
    (replace(PROMISE, chain_id=2**70), "chain_id"),
    (replace(PROMISE, chain_id="1"), "chain_id"),
    ({"chainId": 1, "address": USER}, "refund"),
]


@dataclass(frozen=True, slots=True)
class MoreTerms(TransferTerms):
    """Terms with a member that would stand in for the gateway's own."""

    transactions: tuple[str, ...] = ("0x",)


@pytest.mark.parametrize(("refund", "member"), ODD_TERMS, ids=range(len(ODD_TERMS)))
def test_terms_that_no_answer_can_hold_are_refused(refund, member):
    check_quote(Provider(), REQUEST, replace(QUOTE, terms=TransferTerms(12, None, PROMISE)))
    with pytest.raises(UnsafeAnswer, match=rf"terms.*{member}"):
        check_quote(Provider(), REQUEST, replace(QUOTE, terms=TransferTerms(refund=refund)))


@pytest.mark.parametrize(
    "terms",
    [
        MoreTerms(),
        {"refund": None},
        [],
        "terms",
        object(),
        DeploymentTerms(ROUTER, ROUTER, "0x", "0x", ROUTER, USER, "x"),
    ],
    ids=range(6),
)
def test_terms_of_another_type_are_refused(terms):
    with pytest.raises(UnsafeAnswer, match="terms"):
        check_quote(Provider(), REQUEST, replace(QUOTE, terms=terms))
    with pytest.raises(UnsafeAnswer, match="terms"):
        check(plain(terms=terms))


@pytest.mark.parametrize(
    "change",
    [{"bridge": object()}, {"origin_chain_id": 2**70}, {"expected_seconds": 0.5}, {"refund_address": b"raw"}],
    ids=lambda change: next(iter(change)),
)
def test_odd_tracking_of_a_build_is_refused(change):
    tracking = TransferTracking("a-bridge", 1, 10, 12)
    check(plain(terms=tracking))
    with pytest.raises(UnsafeAnswer, match=rf"terms\.{next(iter(change))}"):
        check(plain(terms=replace(tracking, **change)))


class Chameleon(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


GAS = Gas(100_000, 120_000)
FEE = Fee("lp", USDC, 1, True)
ILL_FORMED = [
    {"fees": None},
    {"fees": iter([FEE])},
    {"fees": (FEE,) * (MAX_ITEMS + 1)},
    {"fees": (replace(FEE, amount=10**400),)},
    {"fees": (replace(FEE, bps=float("nan")),)},
    {"fees": (replace(FEE, bps=10**30),)},
    {"fees": (replace(FEE, amount_usd="1"),)},
    {"fees": (replace(FEE, kind="theft"),)},
    {"gas": {"units": 1}},
    {"gas": replace(GAS, units=1.5)},
    {"gas": replace(GAS, cost_usd=float("inf"))},
    {"slippage_bps": "50"},
    {"price_impact_bps": True},
    {"lifetime_s": 2.5},
    {"issues": (Issue("no such issue"),)},
    {"warnings": (Notice("x", "gniht tfas \u202e"),)},
    {"warnings": (Notice("x", "one line\nInsufficient balance: none"),)},
    {"warnings": (Notice("x", "x" * 1_000_000),)},
    {"route": (RoutePath(10_000, (None,)),)},
    {"block": replace(BLOCK, hash=["0x"])},
    {"block": replace(BLOCK, number=2**70)},
    leg("inputs", token=replace(USDC, symbol="USDC\u200b")),
    leg("inputs", token=replace(USDC, price_usd="1")),
    leg("outputs", amount_usd=object()),
    leg("outputs", account=Chameleon(THIEF)),
]


@pytest.mark.parametrize("changes", ILL_FORMED, ids=range(len(ILL_FORMED)))
def test_a_quote_is_what_its_class_says_in_every_member(changes):
    """Else it is found when the whole answer is rendered, for which nobody else is to blame."""
    fine = replace(QUOTE, fees=[FEE], gas=GAS, issues=(Issue("transfer_tax", actual=5),), price_impact_bps=-3)
    check_quote(Provider(), REQUEST, fine)
    with pytest.raises((UnsafeAnswer, TypeError)):
        check_quote(Provider(), REQUEST, replace(fine, **changes))


@pytest.mark.parametrize(
    "build",
    [
        plain(steps=(step(data="0x"),)),
        plain(steps=(step(chain_id="1"),)),
        plain(deadline=float(NOW + 60)),
        plain(issues=("none",)),
        plain(warnings=None),
        plain(previews=(Preview(USER, WETH.address, WETH.address, "0x"),)),
    ],
)
def test_a_build_is_what_its_class_says_in_every_member(build):
    with pytest.raises((UnsafeAnswer, TypeError)):
        check(build)


def series(*points):
    return Series("1:0x01", "tvl", "usd", "1h", 0, 9, points, "index", "read", updated_at=9)


@pytest.mark.parametrize(
    "points", [(), ((1, 2.5),), ((1, None), (2, 2)), ((2**53, 1e308), (1, 1e308))], ids=range(4)
)
def test_points_of_a_series_may_be_empty_unknown_or_whole(points):
    assert flaw(series(*points), Series) is None


@pytest.mark.parametrize(
    ("point", "where"),
    [
        ((1, float("nan")), r"[2][1]"),
        ((1, float("inf")), r"[2][1]"),
        ((1, "2.5"), r"[2][1]"),
        ((1, True), r"[2][1]"),
        ((2**53 + 1, 2.5), r"[2][0]"),
        ((-(2**53) - 1, 2.5), r"[2][0]"),
        ((True, 2.5), r"[2][0]"),
        ((1.0, 2.5), r"[2][0]"),
        ((1, 2.5, 3), r"[2]"),
        ((1,), r"[2]"),
        (None, r"[2]"),
    ],
    ids=range(11),
)
def test_one_wrong_point_of_a_series_is_found(point, where):
    assert flaw(series((1, 2.5), (2, None), point, (4, 1.0)), Series).startswith(f".points{where}")
