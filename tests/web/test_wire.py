"""Every noun of an answer: what is rendered of any model is what the schema says, member by member."""

import dataclasses
import importlib
import inspect
import pkgutil
from types import SimpleNamespace

import jsonschema
import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from marshmallow import fields
from model_strategies import instances
from quoteway import models
from quoteway.web import wire
from quoteway.web.wire import (
    actions,
    allowances,
    echoes,
    errors,
    holdings,
    index_status,
    live,
    performance,
    prices,
    quotes,
    routes,
    rows,
    terms,
    view,
    wallet_past,
    webhooks,
)
from quoteway.web.wire import transactions as sent
from quoteway.web.wire.view import ABSENT, View
from wire_strategies import NETWORKS, NOUNS, TERMS

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
