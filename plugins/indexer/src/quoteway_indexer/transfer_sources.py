"""The transfers of ERC-20 tokens: of all accounts, or of chosen wallets alone.

An index of all transfers answers for every wallet. On a large chain it is by far most of the rows: there an
operator chooses the wallets that count. A node is asked for their transfers by two filters, one for each end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from marshmallow import Schema, ValidationError, fields, validate, validates_schema
from quoteway import Context, EventRule, EventSource
from quoteway.evm.address import parse_address

SOURCE: Final = "erc20-transfers"
MOST_WALLETS = 200
"""Nodes limit how many topics a filter names."""

TRANSFER = EventRule(
    "Transfer(address indexed from, address indexed to, uint256 value)",
    "transfer",
    {"token": "@", "sender": "from", "recipient": "to", "amount": "value"},
)


class TransferSettings(Schema):
    """The settings of transfers. By default the embedded devnet keeps all, and a deployment none."""

    transfers = fields.String(
        validate=validate.OneOf(("all", "wallets", "off")),
        load_default=None,
        allow_none=True,
        metadata={
            "description": "Which ERC-20 transfers are kept; by default all without a configuration, "
            "else none."
        },
    )
    wallets = fields.List(
        fields.String(),
        validate=validate.Length(max=MOST_WALLETS),
        load_default=list,
        metadata={"description": 'Whose transfers are kept with `transfers = "wallets"`.'},
    )

    @validates_schema
    def check_wallets(self, data: dict[str, object], **kwargs: object) -> None:
        """Refuses wallets that are none, and wallets without the mode that uses them."""
        wallets = data["wallets"]
        assert isinstance(wallets, list)
        for wallet in wallets:
            try:
                parse_address(wallet)
            except ValueError as error:
                raise ValidationError(f"{wallet!r}: {error}", "wallets") from None
        if bool(wallets) != (data["transfers"] == "wallets"):
            text = 'transfers = "wallets" needs wallets = [...], and no other mode takes them'
            raise ValidationError(text, "wallets")


def transfer_sources(context: Context) -> Iterator[EventSource]:
    """Returns the source of transfers of every network, none where transfers are off."""
    mode = context.settings.get("transfers") or ("all" if context.config.embedded else "off")
    if mode == "off":
        return
    wallets = tuple(sorted({parse_address(each) for each in context.settings.get("wallets", ())}))
    for network in context.networks:
        yield EventSource(
            id=SOURCE, chain_id=network.chain_id, version=1, rules=(TRANSFER,), accounts=wallets
        )
