"""The response shapes as schemas: what OpenAPI documents and what tests check answers against.

Members are written in snake_case here and are camelCase on the wire (``quoteway.web.http.schema``).
"""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from quoteway.web.http.schema import ResponseSchema


def maybe(field: type[fields.Field[Any]], **metadata: Any) -> fields.Field[Any]:
    """A member that is always present and null when unknown."""
    return field(required=True, allow_none=True, metadata=metadata)


def sure(field: type[fields.Field[Any]], **metadata: Any) -> fields.Field[Any]:
    """A member that is always present and never null."""
    return field(required=True, metadata=metadata)


def some(shape: type[ResponseSchema]) -> fields.Field[Any]:
    return fields.List(fields.Nested(shape), required=True)


def some_or_null(shape: type[ResponseSchema]) -> fields.Field[Any]:
    return fields.List(fields.Nested(shape), required=True, allow_none=True)


def one(shape: type[ResponseSchema]) -> fields.Field[Any]:
    return fields.Nested(shape, required=True)


def one_or_null(shape: type[ResponseSchema]) -> fields.Field[Any]:
    return fields.Nested(shape, required=True, allow_none=True)


def texts() -> fields.Field[Any]:
    return fields.List(fields.String(), required=True)


class AddressText(fields.String):
    """EIP-55."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            **{**kwargs, "metadata": {"pattern": "^0x[0-9a-fA-F]{40}$", **kwargs.pop("metadata", {})}}
        )


class AmountText(fields.String):
    """Base units as a decimal string."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            **{**kwargs, "metadata": {"pattern": "^(0|[1-9][0-9]{0,77})$", **kwargs.pop("metadata", {})}}
        )


class QuantityText(fields.String):
    """A minimal 0x quantity."""

    def __init__(self, **kwargs: Any) -> None:
        pattern = {"pattern": "^0x(0|[1-9a-f][0-9a-f]*)$", **kwargs.pop("metadata", {})}
        super().__init__(**{**kwargs, "metadata": pattern})


class TimeText(fields.String):
    """RFC 3339, UTC."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "metadata": {"format": "date-time", **kwargs.pop("metadata", {})}})


class ErrorField(ResponseSchema):
    path = sure(fields.String)
    reason = sure(fields.String)
    message = sure(fields.String)


class Attempt(ResponseSchema):
    provider = sure(fields.String)
    outcome = fields.String(required=True, metadata={"enum": ["quoted", "no_route", "failed", "timeout"]})
    amount_out = maybe(AmountText)
    reason = maybe(fields.String)


class RequiredRole(ResponseSchema):
    """Who may take a vault's management action."""

    name = sure(fields.String)
    holder = maybe(AddressText)
    caller_has_role = maybe(fields.Boolean)


class ErrorDetails(ResponseSchema):
    """``limit`` comes with ``amount_too_high``, ``requiredRole`` with ``role_required``, ``revertReason``
    with a simulation that reverted: the contract's own words, cut and made printable."""

    reason = fields.String()
    limit = AmountText()
    required_role = fields.Nested(RequiredRole)
    revert_reason = fields.String(allow_none=True)
    fields_ = fields.List(fields.Nested(ErrorField), data_key="fields")
    attempts = fields.List(fields.Nested(Attempt))
    retryable = fields.Boolean()


class ErrorMembers(ResponseSchema):
    code = sure(fields.String)
    message = sure(fields.String)
    request_id = sure(fields.String)
    details = fields.Nested(ErrorDetails)


class Error(ResponseSchema):
    error = one(ErrorMembers)


class BlockRef(ResponseSchema):
    number = sure(fields.Integer)
    hash = sure(fields.String)
    timestamp = sure(fields.Integer, description="Unix seconds")


class TokenRef(ResponseSchema):
    address = sure(AddressText)
    chain_id = sure(fields.Integer)
    network = sure(fields.String)
    symbol = maybe(fields.String)
    name = maybe(fields.String)
    decimals = sure(fields.Integer)
    is_native = sure(fields.Boolean)
    logo_uri = maybe(fields.String)
    price_usd = maybe(fields.Float)


class Leg(ResponseSchema):
    token = one(TokenRef)
    amount = sure(AmountText)
    amount_min = maybe(AmountText)
    amount_max = maybe(AmountText)
    amount_usd = maybe(fields.Float)
    account = sure(AddressText)


class Fee(ResponseSchema):
    name = sure(fields.String)
    kind = sure(fields.String, enum=["protocol", "integrator", "bridge", "lp", "gas"])
    token = one(TokenRef)
    amount = sure(AmountText)
    amount_usd = maybe(fields.Float)
    bps = maybe(fields.Float)
    included = sure(fields.Boolean)


class Gas(ResponseSchema):
    units = sure(fields.String)
    limit = sure(fields.String)
    max_fee_per_gas = maybe(AmountText)
    l1_fee = maybe(AmountText)
    cost = maybe(AmountText)
    cost_usd = maybe(fields.Float)


class Approval(ResponseSchema):
    token = sure(AddressText)
    spender = sure(AddressText)
    required = sure(AmountText)
    current = maybe(AmountText)
    needed = maybe(fields.Boolean)
    needs_reset = maybe(fields.Boolean)


class Issue(ResponseSchema):
    code = sure(fields.String)
    token = maybe(AddressText)
    actual = maybe(AmountText)
    required = maybe(AmountText)


class Notice(ResponseSchema):
    code = sure(fields.String)
    message = sure(fields.String)


class Hop(ResponseSchema):
    provider = sure(fields.String)
    protocol = sure(fields.String)
    pool = sure(fields.String)
    token_in = sure(AddressText)
    token_out = sure(AddressText)
    amount_in = sure(AmountText)
    amount_out = sure(AmountText)
    fee_bps = maybe(fields.Float)


class RoutePath(ResponseSchema):
    bps = sure(fields.Integer)
    hops = some(Hop)


class Route(ResponseSchema):
    paths = some(RoutePath)


class AssetChange(ResponseSchema):
    account = sure(AddressText)
    token = sure(AddressText)
    delta = sure(fields.String, pattern="^(0|-?[1-9][0-9]{0,77})$")


class AllowanceChange(ResponseSchema):
    owner = sure(AddressText)
    token = sure(AddressText)
    spender = sure(AddressText)
    before = sure(AmountText)
    after = sure(AmountText)


class Simulation(ResponseSchema):
    status = sure(fields.String, enum=["success", "reverted", "skipped"])
    block = one_or_null(BlockRef)
    gas_used = maybe(fields.String)
    gas_used_by_transaction = texts()
    asset_changes = some(AssetChange)
    allowance_changes = some(AllowanceChange)
    revert_reason = maybe(fields.String)
    reverted_step = maybe(fields.Integer)
    skip_reason = maybe(fields.String)
    assumptions = texts()


class Quote(ResponseSchema):
    quote_id = sure(
        fields.String, description="Signed, short-lived; exchange it for an action any number of times."
    )
    kind = sure(fields.String, enum=["swap", "bridge", "pool", "vault"])
    status = sure(fields.String, enum=["active", "expired"])
    provider = sure(fields.String)
    network = sure(fields.String)
    chain_id = sure(fields.Integer)
    created_at = sure(TimeText)
    expires_at = sure(TimeText)
    expires_in = sure(fields.Integer, description="Seconds")
    request = sure(fields.Dict, description="The request as it was understood")
    inputs = some(Leg)
    outputs = some(Leg)
    slippage_bps = sure(fields.Integer)
    deadline = maybe(fields.Integer, description="Unix seconds")
    price_impact_bps = maybe(fields.Integer)
    fees = some_or_null(Fee)
    gas = one_or_null(Gas)
    approvals = some_or_null(Approval)
    issues = some_or_null(Issue)
    route = one_or_null(Route)
    block = one(BlockRef)
    simulation = one_or_null(Simulation)
    warnings = some_or_null(Notice)
    attempts = some_or_null(Attempt)


class QuotePart(ResponseSchema):
    """One provider's part of a quote that several carry out, in order: its own legs and minimums."""

    kind = sure(fields.String, enum=["swap", "bridge"])
    provider = sure(fields.String)
    inputs = some(Leg)
    outputs = some(Leg)


class SwapQuote(Quote):
    from_token = one(TokenRef)
    to_token = one(TokenRef)
    from_amount = sure(AmountText)
    to_amount = sure(AmountText)
    to_amount_min = maybe(AmountText)
    from_amount_usd = maybe(fields.Float)
    to_amount_usd = maybe(fields.Float)
    execution_price = maybe(fields.String, description="Whole output coins per whole input coin")
    parts = some_or_null(QuotePart)


class Transaction(ResponseSchema):
    to = sure(AddressText)
    data = sure(fields.String, pattern="^0x([0-9a-f]{2})*$")
    value = sure(QuantityText)
    chain_id = sure(fields.Integer)


class Argument(ResponseSchema):
    name = sure(fields.String)
    type = sure(fields.String)
    value = fields.Raw(required=True, allow_none=True)


class Decoded(ResponseSchema):
    signature = sure(fields.String)
    args = some(Argument)
    inner = fields.List(fields.Nested(lambda: Decoded()))
    opaque = fields.Boolean()


class Target(ResponseSchema):
    label = maybe(fields.String)
    known = sure(fields.Boolean)
    code_hash = maybe(fields.String)


class ClearSigning(ResponseSchema):
    intent = sure(fields.String)
    descriptor = maybe(fields.String)


class Step(ResponseSchema):
    index = sure(fields.Integer)
    tx_id = sure(fields.String)
    kind = sure(fields.String)
    description = sure(fields.String)
    gas_limit = maybe(QuantityText)
    decoded = one(Decoded)
    approval = one_or_null(Approval)
    target = one(Target)
    clear_signing = one(ClearSigning)


class AppliesTo(ResponseSchema):
    transaction = sure(fields.Integer, description="Index in transactions")
    offset = sure(fields.Integer, description="Byte offset in that transaction's data")
    length = sure(fields.Integer, description="Bytes replaced by the signature")


class Signature(ResponseSchema):
    kind = sure(fields.String)
    typed_data = sure(fields.Dict)
    applies_to = one(AppliesTo)


class SendCall(ResponseSchema):
    to = sure(AddressText)
    data = sure(fields.String)
    value = sure(QuantityText)


class WalletSendCalls(ResponseSchema):
    version = sure(fields.String)
    from_ = fields.String(required=True, data_key="from")
    chain_id = sure(QuantityText)
    atomic_required = sure(fields.Boolean)
    calls = some(SendCall)


class ActionPart(QuotePart):
    steps = fields.List(fields.Integer(), required=True, metadata={"description": "Indices in steps"})


class Action(ResponseSchema):
    action_id = sure(fields.String)
    quote_id = maybe(fields.String)
    kind = sure(fields.String)
    provider = sure(fields.String)
    network = sure(fields.String)
    chain_id = sure(fields.Integer)
    from_ = AddressText(required=True, data_key="from")
    created_at = sure(TimeText)
    expires_at = sure(TimeText)
    deadline = maybe(fields.Integer)
    transactions = some(Transaction)
    steps = some(Step)
    signatures = some(Signature)
    wallet_send_calls = one_or_null(WalletSendCalls)
    inputs = some(Leg)
    outputs = some(Leg)
    parts = some_or_null(ActionPart)
    simulation = one(Simulation)
    issues = some(Issue)
    warnings = some(Notice)


class Point(ResponseSchema):
    timestamp = sure(fields.Integer)
    value = maybe(fields.Float)


class Series(ResponseSchema):
    id = sure(fields.String)
    metric = sure(fields.String)
    unit = sure(fields.String)
    interval = sure(fields.String, enum=["1h", "1d", "1w"])
    from_ = fields.Integer(required=True, data_key="from")
    to = sure(fields.Integer)
    points = some(Point)
    current = maybe(fields.Float)
    source = sure(fields.String)
    method = sure(fields.String)
    as_of_block = one_or_null(BlockRef)
    updated_at = sure(TimeText)
    preview = sure(fields.Boolean)
    gaps = fields.List(fields.List(fields.Integer()), required=True)
    components = fields.Dict(allow_none=True)
    windows = fields.Dict(allow_none=True)


class FailedSource(ResponseSchema):
    """A provider whose rows are missing, and why."""

    provider = sure(fields.String)
    reason = sure(fields.String)


class PageMembers(ResponseSchema):
    """What every page has beside ``data``. ``partial`` names the sources that failed or were late."""

    left_out = fields.List(fields.Nested(FailedSource), required=True, data_key="partial")
    next_cursor = maybe(fields.String)
    total = maybe(fields.Integer)
    preview = sure(fields.Boolean)
    updated_at = sure(TimeText)
