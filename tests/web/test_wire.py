"""Every noun of an answer: what is rendered of any model is what the schema says, member by member."""

import dataclasses
import importlib
import inspect
import pkgutil
from types import SimpleNamespace
from typing import Any

import jsonschema
import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from marshmallow import fields
from model_strategies import ADDRESSES, AMOUNTS, BY_NAME, CHAIN_IDS, TEXTS, TIMES, instances
from quoteway import models
from quoteway.engine.activity import Done
from quoteway.engine.fills import Performance
from quoteway.engine.indicating import Indication, Rung
from quoteway.engine.position_pnl import Gain
from quoteway.engine.wallet_value import HeldThen, ValuePoint
from quoteway.errors import FieldError, GatewayError, NotFound, RateLimited, Reason, UpstreamError
from quoteway.host.call_records import MethodCalls
from quoteway.host.missing_contracts import MissingContract
from quoteway.host.scores import Score
from quoteway.host.states import NotEnabled, State
from quoteway.host.watchdog import Blame, Stall
from quoteway.networks import Network, Networks
from quoteway.web import wire
from quoteway.web.resources import transactions
from quoteway.web.wire import (
    actions,
    allowances,
    candles,
    echoes,
    errors,
    holdings,
    index_status,
    indications,
    liquidity,
    live,
    performance,
    prices,
    providers,
    quotes,
    routes,
    rows,
    series,
    terms,
    view,
    wallet_past,
    webhooks,
)
from quoteway.web.wire import transactions as sent
from quoteway.web.wire.view import ABSENT, View

NETWORKS = Networks([Network("ethereum", 1, "Ethereum", explorer_url="https://explorer.example/")])


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
    level: int | None


PROVIDERS = st.builds(
    SimpleNamespace,
    id=TEXTS,
    name=TEXTS,
    plugin=instances(Plugin),
    reason=st.none() | st.sampled_from(NotEnabled),
    score=st.none() | instances(Score),
    methods=st.lists(instances(MethodCalls), max_size=2),
    last_error=st.none()
    | st.builds(
        SimpleNamespace,
        capability=st.sampled_from(models.Capability),
        method=TEXTS,
        reason=TEXTS,
        at=TIMES,
    ),
    worst_stall=st.none() | st.builds(Stall, instances(Blame), st.floats(0, 86_400)),
    price_outliers=st.none() | st.integers(0, 60_000),
    capabilities=st.lists(TEXTS, max_size=2),
    chain_ids=st.lists(CHAIN_IDS),
    actions=st.tuples(*[st.lists(TEXTS, max_size=2)] * 3),
    strategies=st.lists(st.tuples(CHAIN_IDS, TEXTS), max_size=2),
    protocols=st.lists(TEXTS, max_size=2),
    limits=st.lists(TEXTS, max_size=2),
    enforces_fees=st.booleans(),
    exact_out=st.booleans(),
    enabled=st.booleans(),
    healthy=st.none() | st.booleans(),
    spenders=st.lists(st.tuples(CHAIN_IDS, ADDRESSES)),
    missing_contracts=st.lists(instances(MissingContract), max_size=2),
    refusals=st.lists(st.tuples(CHAIN_IDS, TEXTS), max_size=2),
    upstreams=st.lists(instances(models.UpstreamHealth), max_size=2),
    docs=st.none() | TEXTS,
)


def of_two_tokens(gain):
    """A gain whose amounts are those of its tokens."""
    amounts = ("deposited", "withdrawn", "collected_fees", "uncollected_fees")
    known = {name: (1, 2) for name in amounts if getattr(gain, name) is not None}
    return dataclasses.replace(gain, tokens=(models.Token(1, models.NATIVE, 18, "ETH"),) * 2, **known)


@dataclasses.dataclass
class Followed:
    """A transfer with the transaction that it was asked by."""

    tx_id: str
    hash: str
    state: models.TransferState


TERMS = {view: instances(model) for model, view in terms.VIEWS.items()}

SWAP_QUOTES = st.builds(
    lambda shown, request: dataclasses.replace(
        shown, sealed=dataclasses.replace(shown.sealed, request=request)
    ),
    instances(quotes.ShownQuote),
    instances(models.SwapRequest),
)

INDICATIONS = st.builds(
    Indication,
    provider=TEXTS,
    request=instances(models.SwapRequest),
    # Whole quotes are larger than what hypothesis can make here.
    quote=st.builds(
        models.Quote,
        plan=st.just({}),
        inputs=st.tuples(instances(models.Leg)),
        outputs=st.tuples(instances(models.Leg)),
        block=instances(models.Block),
        gas=st.none() | instances(models.Gas),
        route=st.none() | st.tuples(instances(models.RoutePath)),
        route_legs=st.none() | st.tuples(instances(models.RouteLeg)),
        price_impact_bps=st.none() | st.integers(0, 10_000),
        optimality=st.none() | instances(models.Optimality),
    ),
    attempts=st.tuples(instances(models.Attempt)),
)

CONDITIONS = st.builds(SimpleNamespace, level=TEXTS, why=st.lists(TEXTS, max_size=2))
READINESS = st.builds(
    SimpleNamespace, condition=CONDITIONS, capabilities=st.dictionaries(TEXTS, CONDITIONS, max_size=2)
)
NOUNS: dict[type[View], st.SearchStrategy[Any]] = {
    rows.TokenEntry: instances(models.TokenProfile),
    rows.Profile: instances(models.TokenProfile),
    rows.PoolEntry: instances(models.Pool),
    rows.PositionEntry: instances(models.PoolPosition),
    holdings.PortfolioPosition: instances(holdings.HeldPosition),
    holdings.VaultPositionEntry: instances(models.VaultPosition),
    holdings.Balance: instances(holdings.ValuedHolding),
    allowances.AllowanceEntry: instances(allowances.ShownAllowance),
    rows.VaultEntry: instances(models.Vault),
    rows.BridgeRouteEntry: instances(models.BridgeRoute),
    series.Series: instances(models.Series),
    liquidity.PoolLiquidity: instances(models.PoolLiquidity),
    prices.PriceEntry: instances(prices.PricedToken),
    candles.PriceHistory: instances(candles.TokenHistory),
    performance.PerformanceRow: instances(Performance),
    index_status.IndexEntry: instances(models.IndexStatus),
    wallet_past.ActivityEntry: st.builds(dataclasses.replace, instances(Done), hash=BY_NAME["digest"]),
    wallet_past.IndexCoverage: instances(models.IndexReach),
    wallet_past.Unread: st.tuples(BY_NAME["digest"], TEXTS),
    wallet_past.ValuePoint: instances(ValuePoint),
    wallet_past.HeldThen: instances(HeldThen),
    wallet_past.GainEntry: st.builds(
        wallet_past.PositionGain, instances(holdings.HeldPosition), instances(Gain).map(of_two_tokens)
    ),
    quotes.Quote: instances(quotes.ShownQuote),
    quotes.SwapQuote: SWAP_QUOTES,
    indications.SwapPrice: INDICATIONS,
    indications.SwapDepth: st.builds(
        SimpleNamespace,
        request=instances(models.SwapRequest),
        block=instances(models.Block),
        rungs=st.lists(st.builds(Rung, AMOUNTS, st.none() | INDICATIONS), max_size=2),
    ),
    actions.Action: instances(models.Action),
    errors.Error: FAILED,
    rows.NetworkRow: st.builds(
        SimpleNamespace,
        network=st.just(next(iter(NETWORKS))),
        capabilities=st.lists(TEXTS, max_size=2),
        readiness=st.none() | READINESS,
    ),
    providers.ProviderRow: PROVIDERS,
    sent.HashReport: instances(transactions._Report),
    echoes.SwapEcho: instances(models.SwapRequest),
    echoes.PoolEcho: instances(models.PoolRequest),
    echoes.VaultEcho: instances(models.VaultRequest),
    echoes.ManageEcho: instances(models.ManageRequest),
    echoes.DeployEcho: instances(models.DeployRequest),
    sent.Tracked: st.builds(Followed, tx_id=TEXTS, hash=TEXTS, state=instances(models.TransferState)),
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
    holdings.Whereabouts,
}
"""Quotes and actions with the members of their terms, and parts of other nouns."""

GIVEN_BY_MEMBER = {
    quotes.SwapQuotes,
    quotes.QuoteResult,
    live.Head,
    live.QuoteChange,
    live.TopicFailure,
    live.StreamLost,
    live.StreamEnd,
    webhooks.Webhook,
    webhooks.RegisteredWebhook,
    webhooks.Webhooks,
    sent.Submitted,
    holdings.Balances,
    holdings.BalancesOfWallets,
    prices.Prices,
    performance.ProviderPerformance,
    index_status.IndexStatus,
    wallet_past.Activity,
    wallet_past.WalletHistory,
    wallet_past.Gains,
    allowances.Allowances,
    holdings.AsOf,
    holdings.Partial,
    errors.RpcFailure,
    errors.RpcIdentified,
    errors.RpcResult,
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
    others -= {rows.FailedSource, sent.Broadcast, terms.RefundPlace}
    assert others - SAME_RENDERING - GIVEN_BY_MEMBER == set()


@pytest.fixture(scope="module")
def schemas(contract):
    """The components of the OpenAPI document, closed: no member beside those declared."""
    components = orjson.loads(orjson.dumps(contract.document["components"]))
    for schema in components["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return components


@pytest.mark.slow
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
    bases = {quotes.Quote, rows.Page, holdings.Whereabouts, holdings.VaultPositionEntry}
    bases |= {
        sent.Broadcast,
        errors.RpcIdentified,
        terms.RefundPlace,
        *TERMS,
        *echoes.ECHOES.values(),
    }
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
    given_all = errors.RpcResult.of(NETWORKS, id=1, result=None)
    assert given_all == {"jsonrpc": "2.0", "id": 1, "result": None}
    with pytest.raises(AttributeError):
        errors.RpcResult.of(NETWORKS, result=None)


def test_terms_never_replace_members_that_were_checked():
    own = set().union(*(noun._declared_fields for noun in (quotes.SwapQuote, actions.Action)))
    for noun in TERMS:
        assert not own & set(noun._declared_fields)


@settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(instances(models.Action), instances(models.TransferTracking))
def test_terms_are_shown_beside_the_members_of_an_action(action, tracking):
    plain = actions.Action.render(action, NETWORKS)
    told = actions.Action.render(dataclasses.replace(action, terms=tracking), NETWORKS)
    assert told == plain | {"tracking": terms.Tracking.render(tracking, NETWORKS)}


def test_a_route_has_legs_where_its_provider_names_them():
    hop = models.Hop("uniswap", "uniswap-v2", "0x01", models.NATIVE, models.NATIVE, 10, 9, 30.0)
    ends = models.NATIVE, models.NATIVE
    leg = models.RouteLeg("uniswap", "uniswap-v2", "0x01", *ends, 10, 9, 30.0, share_bps=10_000)
    of_paths = SimpleNamespace(route=(models.RoutePath(10_000, (hop,)),), route_legs=None)
    rendered = routes.Route.render(of_paths, NETWORKS)
    assert set(rendered) == {"paths"}
    assert rendered["paths"][0]["hops"][0]["amountOut"] == "9"
    of_legs = routes.Route.render(SimpleNamespace(route=of_paths.route, route_legs=(leg,)), NETWORKS)
    assert of_legs["legs"] == [{**rendered["paths"][0]["hops"][0], "shareBps": 10_000}]
