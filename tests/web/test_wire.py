"""Every noun of an answer: what is rendered of any model is what the schema says, member by member."""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Mapping, Sequence
from enum import Enum
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import jsonschema
import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from marshmallow import fields
from quoteway import models
from quoteway.errors import FieldError, GatewayError, NotFound, RateLimited, Reason, UpstreamError
from quoteway.evm.address import checksum
from quoteway.host.states import NotEnabled, State
from quoteway.networks import Network, Networks
from quoteway.web import wire
from quoteway.web.resources import transactions
from quoteway.web.wire import actions, errors, parts, quotes, rows, view
from quoteway.web.wire.view import ABSENT, View

NETWORKS = Networks([Network("ethereum", 1, "Ethereum", explorer_url="https://explorer.example/")])

ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: checksum("0x" + raw.hex()))
TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=12)
CHAIN_IDS = st.sampled_from([1, 10])
AMOUNTS = st.integers(0, models.MAX_UINT256)
TIMES = st.integers(0, 253_402_300_799)

# By member name, where the type alone says too little.
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(
        ("address", "account", "spender", "owner", "hooks", "to", "sender", "recipient", "asset", "bot"),
        ADDRESSES,
    ),
    **dict.fromkeys(("chain_id", "to_chain_id", "from_chain_id"), CHAIN_IDS),
    **dict.fromkeys(("updated_at", "created_at", "expires_at"), TIMES),
    "vault_id": st.tuples(CHAIN_IDS, ADDRESSES).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    "pool_id": st.tuples(CHAIN_IDS, ADDRESSES).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    "decimals": st.integers(0, 255),
    "capability": st.sampled_from([models.Capability.SWAP, models.Capability.BRIDGE]),
    "delta": st.integers(-models.MAX_UINT256, models.MAX_UINT256),
    "value": st.integers(0, models.MAX_UINT256),
    "inner": st.just(()) | st.just((models.DecodedCall("f()", ()),)),
    "terms": st.none(),
}
LINKS = st.sampled_from(["https://example.org/a.png", "javascript:alert(1)"])
TYPED_AMOUNTS = ("amount", "required", "current", "actual", "before", "after", "liquidity", "total_assets")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.binary(max_size=4) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.builds(models.Argument, TEXTS, TEXTS, inner),
    max_leaves=4,
)


def member(owner: type, name: str, kind: Any) -> st.SearchStrategy[Any]:
    """Values of one member of a dataclass."""
    optional = get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)
    if (owner, name) == (models.ActionPart, "steps"):
        return st.integers(1, 3)
    if (owner, name) == (models.SealedQuote, "parts"):
        return st.just(())
    if (owner, name) == (models.Argument, "value"):
        return VALUES
    if name == "token" and kind in (str, str | None):
        values = ADDRESSES
    elif name.endswith(("_uri", "website", "whitepaper")):
        values = LINKS
    elif name in BY_NAME and not dataclasses.is_dataclass(kind) and kind != models.Token:
        values = BY_NAME[name]
    else:
        return of(kind, owner, name)
    return st.none() | values if optional else values


def of(kind: Any, owner: type, name: str) -> st.SearchStrategy[Any]:
    """Values of a type, as ``models`` uses types."""
    origin, args = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return instances(kind)
    if origin in (Union, UnionType):
        return st.one_of(*(st.none() if arg is NoneType else of(arg, owner, name) for arg in args))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple and args[-1] is not Ellipsis:
        return st.tuples(*(of(arg, owner, name) for arg in args))
    if origin in (tuple, Sequence):
        least = 1 if name in ("inputs", "outputs", "parts") else 0
        return st.lists(of(args[0], owner, name), min_size=least, max_size=2).map(tuple)
    if origin is Mapping:
        values = AMOUNTS if name == "caps" else of(args[1], owner, name)
        if name == "caps":
            values = values | st.none()
        return st.dictionaries(TEXTS, values, max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if kind is Any:
        return st.integers(0, 9)
    if name in ("token", "spender", "token_in", "token_out") and kind is str:
        return ADDRESSES
    return {
        str: TEXTS,
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bytes: st.binary(max_size=8),
        int: AMOUNTS if name.startswith(TYPED_AMOUNTS) else st.integers(0, (1 << 53) - 1),
    }[kind]


@functools.cache
def instances(kind: type) -> st.SearchStrategy[Any]:
    """Instances of a dataclass, deferred: a class may have members of itself."""

    def build() -> st.SearchStrategy[Any]:
        hints = get_type_hints(kind)
        return st.builds(
            kind, **{f.name: member(kind, f.name, hints[f.name]) for f in dataclasses.fields(kind)}
        )

    return st.deferred(build)


def failed(error: GatewayError, request_id: str) -> SimpleNamespace:
    """What an error shows, with its details."""
    told = {"code": error.code, "message": error.message, "request_id": request_id, "details": error}
    return SimpleNamespace(error=SimpleNamespace(**told))


FAILED = st.builds(
    failed,
    st.builds(
        lambda kind, message, **more: kind(message, **more),
        st.sampled_from([UpstreamError, NotFound, RateLimited]),
        TEXTS,
        reason=st.none() | st.sampled_from(Reason),
        fields=st.lists(instances(FieldError), max_size=2),
        attempts=st.lists(instances(models.Attempt), max_size=2),
        retryable=st.none() | st.booleans(),
    ),
    TEXTS,
)


@dataclasses.dataclass
class Plugin:
    """What a row of a provider shows of its plugin."""

    name: str
    version: str
    distribution: str
    state: State


PROVIDERS = st.builds(
    SimpleNamespace,
    id=TEXTS,
    name=TEXTS,
    plugin=instances(Plugin),
    reason=st.none() | st.sampled_from(NotEnabled),
    capabilities=st.lists(TEXTS, max_size=2),
    chain_ids=st.lists(CHAIN_IDS),
    actions=st.tuples(*[st.lists(TEXTS, max_size=2)] * 3),
    enabled=st.booleans(),
    healthy=st.none() | st.booleans(),
    spenders=st.lists(st.tuples(CHAIN_IDS, ADDRESSES)),
    docs=st.none() | TEXTS,
)


@dataclasses.dataclass
class Followed:
    """A transfer with the transaction that it was asked by."""

    tx_id: str
    hash: str
    state: models.TransferState


TERMS = {view: instances(model) for model, view in parts.VIEWS.items()}

NOUNS: dict[type[View], st.SearchStrategy[Any]] = {
    rows.TokenEntry: instances(models.TokenProfile),
    rows.Profile: instances(models.TokenProfile),
    rows.PoolEntry: instances(models.Pool),
    rows.PositionEntry: instances(models.PoolPosition),
    rows.PortfolioPosition: instances(rows.HeldPosition),
    rows.VaultPositionEntry: instances(models.VaultPosition),
    rows.Balance: instances(rows.ValuedHolding),
    rows.VaultEntry: instances(models.Vault),
    rows.BridgeRouteEntry: instances(models.BridgeRoute),
    rows.Series: instances(models.Series),
    quotes.Quote: instances(quotes.ShownQuote),
    quotes.SwapQuote: instances(quotes.ShownQuote),
    actions.Action: instances(models.Action),
    errors.Error: FAILED,
    rows.NetworkRow: st.builds(
        SimpleNamespace, network=st.just(next(iter(NETWORKS))), capabilities=st.lists(TEXTS, max_size=2)
    ),
    rows.ProviderRow: PROVIDERS,
    actions.HashReport: instances(transactions._Report),
    parts.SwapEcho: instances(models.SwapRequest),
    parts.PoolEcho: instances(models.PoolRequest),
    parts.VaultEcho: instances(models.VaultRequest),
    parts.ManageEcho: instances(models.ManageRequest),
    parts.DeployEcho: instances(models.DeployRequest),
    actions.Tracked: st.builds(Followed, tx_id=TEXTS, hash=TEXTS, state=instances(models.TransferState)),
    **TERMS,
}

SAME_RENDERING = {
    quotes.PoolQuote,
    quotes.VaultQuote,
    quotes.DeployQuote,
    quotes.BridgeQuote,
    quotes.ManageAction,
    quotes.DeployAction,
    quotes.BridgeAction,
    rows.Whereabouts,
}
"""Quotes and actions with the members of their terms, and parts of other nouns."""

GIVEN_BY_MEMBER = {
    actions.Submitted,
    rows.Balances,
    rows.AsOf,
    rows.Partial,
    errors.RpcAnswer,
    errors.RpcErrorObject,
}
"""Made by ``View.of``; the tests of their operations check them."""


def every_view() -> set[type[View]]:
    """Every noun in ``quoteway.web.wire``."""
    found: set[type[View]] = set()
    for module in pkgutil.iter_modules(wire.__path__):
        for value in vars(importlib.import_module(f"{wire.__name__}.{module.name}")).values():
            if inspect.isclass(value) and issubclass(value, View) and value is not View:
                found.add(value)
    return found


def nested_in(noun: type[View]) -> set[type[View]]:
    """A noun and all that its members are made of."""
    found, left = set(), [noun]
    while left:
        current = left.pop()
        if current in found:
            continue
        found.add(current)
        for field in current._declared_fields.values():
            while isinstance(field, fields.List):
                field = field.inner
            if isinstance(field, fields.Nested):
                left.append(type(field.schema))
    return found


def test_every_noun_is_tried():
    tried = set().union(*map(nested_in, NOUNS))
    others = {noun for noun in every_view() if not issubclass(noun, rows.Page)} - tried
    others -= {rows.FailedSource, actions.Broadcast, parts.RefundPlace}
    assert others - SAME_RENDERING - GIVEN_BY_MEMBER == set()


@pytest.fixture(scope="module")
def schemas(contract):
    """The components of the OpenAPI document, closed: no member beside those declared."""
    components = orjson.loads(orjson.dumps(contract.document["components"]))
    for schema in components["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return components


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
def test_what_is_rendered_is_what_the_schema_says(noun, schemas):
    documented = noun.__name__ in schemas["schemas"]
    schema = {"$ref": f"#/components/schemas/{noun.__name__}", "components": schemas}
    validator = jsonschema.Draft202012Validator(schema)
    needed = {field.data_key for field in noun().fields.values() if field.required}

    @settings(
        max_examples=25,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # the schema names the member: a smaller model would tell nothing more
        suppress_health_check=list(HealthCheck),
    )
    @given(NOUNS[noun])
    def check(model):
        rendered = noun.render(model, NETWORKS)
        plain = orjson.loads(orjson.dumps(rendered))
        assert needed <= set(plain)
        assert noun().validate(plain) == {}
        if documented:
            validator.validate(plain)
        assert noun.render_all([model], NETWORKS) == [rendered]

    check()


def test_every_noun_is_documented_under_its_own_name(schemas):
    bases = {quotes.Quote, rows.Page, rows.Whereabouts, rows.VaultPositionEntry}
    bases |= {actions.Broadcast, parts.RefundPlace, *TERMS, *parts.ECHOES.values()}
    assert {noun.__name__ for noun in every_view() - bases} <= set(schemas["schemas"])


# --- the mechanism ----------------------------------------------------------------------------------------


class Parts(View):
    count = view.required(fields.Integer, "length")
    word = view.nullable(fields.String, lambda model: model.word)
    note = view.optional(fields.String, lambda model: ABSENT if model.word is None else model.word)
    more = view.optional(fields.String, view.hidden)


@dataclasses.dataclass
class Thing:
    length: int
    word: str | None


def test_members_come_from_attributes_and_functions_and_absent_ones_are_left_out():
    assert Parts.render(Thing(3, "x"), NETWORKS) == {"count": 3, "word": "x", "note": "x"}
    assert Parts.render(Thing(3, None), NETWORKS) == {"count": 3, "word": None}


def test_members_given_by_name_are_all_of_them_that_are_required():
    given_all = errors.RpcAnswer.of(NETWORKS, id=1, result=None)
    assert given_all == {"jsonrpc": "2.0", "id": 1, "result": None}
    with pytest.raises(AttributeError):
        errors.RpcAnswer.of(NETWORKS, result=None)


def test_terms_never_replace_members_that_were_checked():
    own = set().union(*(noun._declared_fields for noun in (quotes.SwapQuote, actions.Action)))
    for noun in TERMS:
        assert not own & set(noun._declared_fields)


@settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(instances(models.Action), instances(models.TransferTracking))
def test_terms_are_shown_beside_the_members_of_an_action(action, tracking):
    plain = actions.Action.render(action, NETWORKS)
    told = actions.Action.render(dataclasses.replace(action, terms=tracking), NETWORKS)
    assert told == plain | {"tracking": parts.Tracking.render(tracking, NETWORKS)}
