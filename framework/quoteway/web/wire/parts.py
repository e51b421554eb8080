"""What answers are made of: tokens, legs, fees, gas, approvals, pools of routes."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.text import (
    AddressText,
    AmountText,
    ChainIdNumber,
    CodeText,
    CountText,
    DecimalsNumber,
    IntegerText,
    LogoText,
    NetworkText,
    ProviderId,
    UnixTime,
    UsdNumber,
    WeiText,
)
from quoteway.web.wire.view import (
    View,
    nullable,
    required,
)


class TokenRef(View):
    address = required(
        AddressText, description="Contract of the token; the zero address stands for the native coin"
    )
    chain_id = required(ChainIdNumber)
    network = required(NetworkText, "chain_id")
    symbol = nullable(
        fields.String,
        description="Ticker of the token. Tokens may share one. Null when the contract has none",
    )
    name = nullable(fields.String, description="Name of the token. Null when the contract has none")
    decimals = required(DecimalsNumber)
    is_native = required(fields.Boolean, description="Whether the token is the native coin of the network")
    logo_uri = nullable(LogoText)
    price_usd = nullable(UsdNumber, description="Price of one whole token")


class BlockRef(View):
    number = required(fields.Integer, description="Height of the block")
    hash = required(fields.String, description="Hash of the block, 32 bytes as 0x hex")
    timestamp = required(UnixTime, description="Time of the block")


class Leg(View):
    token = required(TokenRef, description="Token that is paid or received")
    amount = required(AmountText, description="Amount at the state of the block that was read")
    amount_min = nullable(
        AmountText,
        description="Least amount that is accepted: the transactions revert below it, or the gateway "
        "refuses the action where the contract takes no minimum. Null where there is no "
        "minimum",
    )
    amount_max = nullable(
        AmountText,
        description="Most that may be taken. Null where no more than `amount` is taken",
    )
    amount_usd = nullable(
        UsdNumber, description="Value of `amount`. Null when not known, and in every action"
    )
    account = required(AddressText, description="Account that pays an input or receives an output")


class Fee(View):
    name = required(fields.String, description="Name of the kind of fee in words, such as `Protocol fee`")
    kind = required(
        fields.String,
        enum=["protocol", "integrator", "bridge", "lp", "gas"],
        description="Who takes the fee: `protocol` the protocol or service, `integrator` the "
        "`feeRecipient` of the request, `bridge` the bridge, `lp` the liquidity providers, "
        "`gas` who pays gas for the caller",
    )
    token = required(TokenRef, description="Token in which the fee is paid")
    amount = required(AmountText, description="Amount of the fee")
    amount_usd = nullable(UsdNumber, description="Value of `amount`")
    bps = nullable(
        fields.Float,
        description="Rate of the fee in basis points of the amount that it is taken from. Null where it "
        "is no rate",
    )
    included = required(
        fields.Boolean,
        description="Whether `inputs` and `outputs` contain the fee already. False: it is paid beside them",
    )
    recipient = nullable(AddressText, description="Account that receives the fee. Null when not known")


class Gas(View):
    units = required(IntegerText, description="Estimated units of gas of the transactions, without approvals")
    limit = required(
        IntegerText,
        description="Estimated gas limit for these transactions, in units of gas: `units` with a reserve. "
        "`gasLimit` of an action's steps is measured",
    )
    max_fee_per_gas = nullable(
        WeiText,
        "max_fee_per_gas_wei",
        description="Highest fee for a unit of gas that the estimate assumes (EIP-1559)",
    )
    l1_fee = nullable(
        WeiText,
        "l1_fee_wei",
        description="Fee that a rollup charges for the data of the transactions on its parent chain. Null "
        "where it charges none, or when not known",
    )
    cost = nullable(WeiText, "cost_wei", description="Estimated cost of `units`, `l1Fee` included")
    price = nullable(
        WeiText, "price_wei", description="Price of a unit of gas with which `cost` was computed"
    )
    cost_usd = nullable(UsdNumber, description="Value of `cost`")


class Approval(View):
    token = required(AddressText, description="ERC-20 token that the transactions take from the caller")
    spender = required(AddressText, description="Contract that needs the allowance")
    required = required(AmountText, description="Allowance that the transactions need")
    current = nullable(AmountText, description="Allowance at the block that was read")
    needed = nullable(
        fields.Boolean,
        description="Whether `current` is less than `required`, so that the action has an approval",
    )
    needs_reset = nullable(
        fields.Boolean,
        description="Whether the token refuses another allowance until the present one is set to zero. "
        "Null in a quote, where it was not tried",
    )


class Issue(View):
    code = required(
        fields.String,
        description="What would make the transactions fail or what to check, such as "
        "`insufficient_balance`; more codes may be added within v2",
    )
    token = nullable(
        AddressText, description="Token or contract that the issue is about. Null when it is about none"
    )
    actual = nullable(
        CountText,
        description="Present value: base units of `token`; basis points with `high_price_impact` and "
        "`transfer_tax`. Null where the issue has no value",
    )
    required = nullable(
        CountText,
        description="Value at which the issue is absent, in the unit of `actual`. Null where the issue "
        "has no value",
    )


class TradeTax(View):
    """Taxes that a token takes of trades, measured in a simulation against a pool."""

    token = required(AddressText, description="Token that was measured")
    buy_bps = nullable(
        fields.Integer,
        description="Part of a purchase that the token itself takes, in basis points. Null when not measured",
    )
    sell_bps = nullable(
        fields.Integer,
        description="Part of a sale that the token itself takes, in basis points. Null when not measured",
    )
    sellable = nullable(
        fields.Boolean, description="Whether the simulated sale succeeded. Null when no sale was simulated"
    )


class Notice(View):
    code = required(fields.String, description="Code for programs; more codes may be added within v2")
    message = required(fields.String, description="What the code means here, in a sentence")


class Hop(View):
    provider = required(ProviderId)
    protocol = required(fields.String, description="Protocol of the pool, such as `uniswap-v3`")
    pool = required(fields.String, description="Address of the pool; for Uniswap v4 its 32-byte id")
    token_in = required(AddressText, description="Token that the pool receives")
    token_out = required(AddressText, description="Token that the pool pays")
    amount_in = required(AmountText, description="Amount of `tokenIn` that the pool receives")
    amount_out = required(AmountText, description="Amount of `tokenOut` that the pool pays")
    fee_bps = nullable(fields.Float, description="Fee of the pool, in basis points of `amountIn`")


class RoutePath(View):
    bps = required(fields.Integer, description="Part of the input that takes this path, in basis points")
    hops = required([Hop], description="Pools of the path, in the order of the trade")


class RouteLeg(Hop):
    """All that passes through one pool of a route."""

    share_bps = required(
        fields.Integer,
        description="Part of all that the route sells of `tokenIn` that this pool receives, in basis "
        "points. The native coin and its wrapped form count as one token",
    )


class QuotePart(View):
    """One provider's part of a quote that several carry out, in order: its own legs and minimums."""

    kind = required(
        CodeText,
        "capability",
        enum=["swap", "bridge"],
        description="Whether the part is a swap within a network or a transfer to another one",
    )
    provider = required(ProviderId)
    inputs = required([Leg], description="What the part takes from the caller")
    outputs = required([Leg], description="What the part pays, each output with its own minimum")


class Range(View):
    tick_lower = required(fields.Integer, 0, description="Lower tick of the position, included in its range")
    tick_upper = required(
        fields.Integer, 1, description="Upper tick of the position, excluded from its range"
    )


class Difference(View):
    member = required(
        fields.String,
        description="Member of the transaction that differs: `chainId`, `to`, `value`, `data` or `from`",
    )
    expected = nullable(
        fields.String,
        description="Value of the transaction that was built; of `data` its keccak-256. Null for none",
    )
    actual = nullable(
        fields.String,
        description="Value of the transaction that was found; of `data` its keccak-256. Null for none",
    )


class RequiredRole(View):
    """Role that a management action of a vault requires."""

    name = required(fields.String, description="Role that the contract requires, such as `owner`")
    holder = nullable(AddressText, description="Account that has the role: the caller if it has it")
    caller_has_role = nullable(
        fields.Boolean, description="Whether the `address` of the request has the role"
    )
