"""Models of every noun of an answer, made by hypothesis."""

import dataclasses
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st
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
    networks,
    performance,
    prices,
    providers,
    quotes,
    rows,
    series,
    terms,
    wallet_past,
)
from quoteway.web.wire import transactions as sent
from quoteway.web.wire.view import View

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
    networks.NetworkRow: st.builds(
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
