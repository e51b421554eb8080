"""The kinds of members: how a value of a model is written, and what the OpenAPI document says of each.

``about`` describes members whose declaration has no description of its own; ``unit`` follows every
description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from marshmallow import fields

from quoteway.models import SIDES, Token
from quoteway.networks import Networks
from quoteway.web.wire.view import ConvertedField, NetworkField

_LINK = re.compile(r"(?:https?|ipfs|ipns|ar)://[\x21-\x7e]", re.IGNORECASE)


class PatternText(fields.String):
    """Text whose form the OpenAPI document states."""

    form: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "metadata": {**self.form, **kwargs.get("metadata", {})}})


class AddressText(PatternText):
    """EIP-55."""

    form = {"pattern": "^0x[0-9a-fA-F]{40}$"}


class IntegerText(fields.String, ConvertedField):
    """An integer as a decimal string, as gas is."""

    unit = "An integer in decimal digits"

    convert = staticmethod(str)


class AmountText(PatternText, IntegerText):
    """Base units as a decimal string."""

    form = {"pattern": "^(0|[1-9][0-9]{0,77})$"}
    unit = "Base units in decimal digits"


class WeiText(AmountText):
    """Wei as a decimal string."""

    unit = "Wei in decimal digits"


class CountText(AmountText):
    """A number of what the description says, as a decimal string."""

    unit = "Decimal digits"


class DeltaText(AmountText):
    """A gain or a loss in base units as a decimal string."""

    form = {"pattern": "^(0|-?[1-9][0-9]{0,77})$"}
    unit = "Base units in decimal digits, with a minus sign for a loss"


class QuantityText(PatternText, ConvertedField):
    """A minimal 0x quantity (execution-apis)."""

    form = {"pattern": "^0x(0|[1-9a-f][0-9a-f]*)$"}
    unit = "0x hex without leading zeros"

    convert = staticmethod(hex)


class HexText(PatternText, ConvertedField):
    """Bytes as 0x hex."""

    form = {"pattern": "^0x([0-9a-f]{2})*$"}
    unit = "0x hex"

    @staticmethod
    def convert(value: bytes) -> str:
        return "0x" + value.hex()


class DigestText(PatternText):
    """32 bytes as 0x hex."""

    form = {"pattern": "^0x[0-9a-f]{64}$"}


class AmountTable(fields.Dict, ConvertedField):
    """Amounts by name; null where one is not known."""

    unit = AmountText.unit

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(values=AmountText(allow_none=True), **kwargs)

    @staticmethod
    def convert(value: Mapping[str, int | None]) -> dict[str, str | None]:
        return {name: None if amount is None else str(amount) for name, amount in value.items()}


class IntegerTable(AmountTable):
    """Integers by name."""

    unit = IntegerText.unit


class Table(fields.Dict, ConvertedField):
    """A mapping as an object of its own."""

    @staticmethod
    def convert(value: Mapping[str, Any]) -> dict[str, Any]:
        return dict(value)


class NumberTable(Table):
    """Numbers by name; null where one is not known."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(values=fields.Float(allow_none=True), **kwargs)


class CountTable(Table):
    """Counts by name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(values=fields.Integer(), **kwargs)


class NameTable(Table):
    """Names by name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(values=fields.String(), **kwargs)


class TimeText(PatternText, ConvertedField):
    """Unix seconds as RFC 3339 in UTC."""

    form = {"format": "date-time"}
    unit = "RFC 3339 in UTC"

    @staticmethod
    def convert(value: int) -> str:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class LinkText(fields.String, ConvertedField):
    """An address that a page may load or lead to; null for what a browser would run."""

    @staticmethod
    def convert(value: str) -> str | None:
        return value if _LINK.match(value) else None


class NetworkText(fields.String, NetworkField):
    """A chain id as the network's name; as CAIP-2 id for a chain that this deployment does not name."""

    about = "Name of the network; `eip155:` and the chain id where this deployment has no name for it"

    def convert(self, value: int, networks: Networks) -> str:
        network = networks.by_chain_id(value)
        return network.slug if network else f"eip155:{value}"


class PrivateSubmissionText(fields.String, NetworkField):
    """A chain id as the URL that the operator configured for transactions that few shall see."""

    def convert(self, value: int, networks: Networks) -> str | None:
        network = networks.by_chain_id(value)
        return network.private_submission if network else None


class ExplorerText(fields.String, NetworkField):
    """A token as its page in the network's explorer; the native coin as the explorer itself."""

    def convert(self, value: Token, networks: Networks) -> str | None:
        network = networks.by_chain_id(value.chain_id)
        if network is None or not network.explorer_url:
            return None
        base = network.explorer_url.rstrip("/")
        return base if value.is_native else f"{base}/token/{value.address}"


class CodeText(fields.String, ConvertedField):
    """A member of a ``StrEnum`` as its value."""

    convert = staticmethod(str)


class ChainIdNumber(fields.Integer):
    """A chain id."""

    about = "Chain id of the network (EIP-155)"


class UnixTime(fields.Integer):
    """A moment."""

    unit = "Unix seconds"


class DecimalsNumber(fields.Integer):
    """``decimals`` of ERC-20."""

    about = "Number of decimals: one whole token is 10^decimals base units"


class PriceImpact(fields.Integer):
    """Basis points."""

    about = "How far the price of the trade is below that of the pools before it, in basis points"


class SlippageNumber(fields.Integer):
    """Basis points."""

    about = "How far amounts may change to the caller's disadvantage, in basis points"


class UsdNumber(fields.Float):
    """US dollars; an estimate, never an amount to pay."""

    unit = "US dollars"


class ConfidenceNumber(fields.Float):
    """A number from 0 to 1."""

    about = "Confidence of the price sources in the price, from 0 to 1"


class ProviderId(fields.String):
    """The id of a provider."""

    about = "Id of the provider, as in `GET /v2/providers`"


class WalletText(AddressText):
    """The wallet of a request."""

    about = "Wallet of the request"


class CursorText(fields.String):
    """Where a list goes on."""

    about = "Value of `cursor` for the next page. Null on the last page"


class LogoText(LinkText):
    """A picture."""

    about = "Link to the logo of the token"


class SideText(PatternText):
    """One of ``SIDES``."""

    form = {"enum": list(SIDES)}
    about = "Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought"


class IntervalText(PatternText):
    """The time between values."""

    form = {"enum": ["1h", "1d", "1w"]}
    about = "Time between values: an hour, a day or a week"
