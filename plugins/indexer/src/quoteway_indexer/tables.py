"""The tables of an index: facts, which are rows of events, and rollups, which are computed from facts.

A table is data: the back ends create it, write it and read it by its declaration. Every fact has the columns
of ``PLACE`` before its own. Amounts are integers of base units. Times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

ColumnType = Literal["int32", "int64", "float", "text", "bytes", "address", "bytes32", "int256", "uint256"]
"""``address`` and ``bytes32`` are 20 and 32 bytes, ``bytes`` at most 32. ``int256`` and ``uint256`` are exact
integers of any size that fits, in every back end."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Its value is None where it is not known, unless it is part of the key."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``key`` are the columns that tell two rows apart; they begin with ``chain_id``.

    The key of a fact has the place of its log, and ``place`` where one log makes several rows. A ``fact`` is
    written once and deleted when its block is taken back. A ``rollup`` row replaces the one with the same
    key. ``time`` is the column that old rows are found by, for retention.
    """

    name: str
    kind: Literal["fact", "rollup"]
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    time: str

    def column(self, name: str) -> Column:
        """Returns a column. Raises ``KeyError`` when the table has no such column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name!r} has no column {name!r}")

    def place(self, name: str) -> int:
        """Returns the index of a column. Raises ``KeyError`` when the table has no such column."""
        return self.columns.index(self.column(name))


PLACE: Final = (
    Column("chain_id", "int64"),
    Column("source", "text"),
    Column("block", "int64"),
    Column("log_index", "int32"),
    Column("timestamp", "int64"),
    Column("transaction_hash", "bytes32"),
)
"""Where a fact was logged; ``source`` is the id of its ``EventSource``."""


LOG: Final = "chain_id", "block", "log_index"
"""The columns that tell two logs apart: the key of a fact that has one row of each log."""


def _fact(name: str, **columns: ColumnType) -> Table:
    own = tuple(Column(*column) for column in columns.items())
    return Table(name, "fact", (*PLACE, *own), LOG, "timestamp")


def _items(name: str, **columns: ColumnType) -> Table:
    """Returns a fact of which a log makes several rows; ``place`` is that of an item in its array, from 0."""
    own = Column("place", "int32"), *(Column(*column) for column in columns.items())
    return Table(name, "fact", (*PLACE, *own), (*LOG, "place"), "timestamp")


def _rollup(name: str, key: tuple[str, ...], time: str, **columns: ColumnType) -> Table:
    own = tuple(Column(*column) for column in columns.items())
    return Table(name, "rollup", (Column("chain_id", "int64"), *own), ("chain_id", *key), time)


FACTS: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        # A factory made a contract whose logs count for a source; ``source`` is the id of the pass over the
        # factories' logs (``quoteway_indexer.ingest.sources``).
        _fact("contract_created", factory="address", contract="address"),
        # A pool came into being. ``pool`` is the address of a v2 or v3 pool, the 32-byte id of a v4 pool. The
        # tokens of a pool that may have more than two are those of ``pool_token``. is_stable is 1 for a pool
        # whose factory also makes volatile ones, 0 for such a one, and null elsewhere.
        _fact(
            "pool_created",
            pool="bytes",
            token0="address",
            token1="address",
            fee_pips="int32",
            tick_spacing="int32",
            hooks="address",
            sqrt_price_x96="uint256",
            tick="int32",
            is_stable="int32",
        ),
        # The first price of a v3 pool.
        _fact("pool_initialized", pool="bytes", sqrt_price_x96="uint256", tick="int32"),
        # Amounts are what the pool gains (negative: pays). in0 and in1 are the inputs where both sides may
        # have one, as in v2; null: the input is the positive amount. Price and liquidity are those after.
        # protocol_fee0 and 1 are null where the event does not tell them.
        _fact(
            "swap",
            pool="bytes",
            sender="address",
            recipient="address",
            amount0="int256",
            amount1="int256",
            in0="uint256",
            in1="uint256",
            sqrt_price_x96="uint256",
            liquidity="uint256",
            tick="int32",
            fee_pips="int32",
            protocol_fee0="uint256",
            protocol_fee1="uint256",
        ),
        # A swap in a pool that may have more than two tokens. A token is null where the event does not name
        # it but its place in the pool; a place is null where it names the token. fee_in is the fee that the
        # event tells, in token_in and part of amount_in.
        _fact(
            "token_swap",
            pool="bytes",
            sender="address",
            recipient="address",
            token_in="address",
            token_out="address",
            place_in="int32",
            place_out="int32",
            amount_in="uint256",
            amount_out="uint256",
            fee_in="uint256",
        ),
        # The tokens of a pool, in its order. pays_yield_fees is 1 for a token of which the protocol takes a
        # part of what its rate grows by, 0 for others, and null where there is no such fee.
        _items("pool_token", pool="bytes", token="address", pays_yield_fees="int32"),
        # A number that a pool works with from now on. ``setting`` is the family's word for it.
        _fact("pool_setting", pool="bytes", setting="text", value="uint256"),
        # What came (positive) or left of one token of a pool when liquidity was added or removed. ``token``
        # is null where the event tells its place in the pool alone. fee is what the change paid in this token
        # as for a swap, protocol_fee what left for the protocol beside ``amount``, share_supply the supply of
        # pool tokens after the change; each is null where the event does not tell it.
        _items(
            "token_liquidity",
            pool="bytes",
            owner="address",
            token="address",
            amount="int256",
            fee="uint256",
            protocol_fee="uint256",
            share_supply="uint256",
        ),
        # Liquidity came (positive delta and amounts) or went. Amounts are null where the event has none (v4).
        _fact(
            "liquidity",
            pool="bytes",
            owner="address",
            tick_lower="int32",
            tick_upper="int32",
            salt="bytes32",
            liquidity_delta="int256",
            amount0="int256",
            amount1="int256",
        ),
        # What left a v3 pool for a provider, or for the protocol (then owner is null).
        _fact(
            "collected",
            pool="bytes",
            owner="address",
            recipient="address",
            tick_lower="int32",
            tick_upper="int32",
            amount0="uint256",
            amount1="uint256",
        ),
        # The fee of a swap that left its pool at once, for the providers, where an event of its own tells it.
        # The amounts of the swap have it in them.
        _fact("fee", pool="bytes", sender="address", amount0="uint256", amount1="uint256"),
        # What a flash loan paid, and what was donated to the providers in range.
        _fact("flash", pool="bytes", paid0="uint256", paid1="uint256"),
        _fact("donation", pool="bytes", sender="address", amount0="uint256", amount1="uint256"),
        # A new protocol fee of a pool: both settings of v3, or both packed into one as in v4. A setting is a
        # divisor, or a number of parts where ``parts`` tells how many make a whole.
        _fact(
            "protocol_fee", pool="bytes", setting0="int32", setting1="int32", packed="int32", parts="int32"
        ),
        # The reserves of a v2 pair after its last change.
        _fact("reserves", pool="bytes", reserve0="uint256", reserve1="uint256"),
        # A transfer of the liquidity tokens of a v2 pair, from the zero address where they come into being.
        _fact("share_transfer", pool="bytes", sender="address", recipient="address", amount="uint256"),
        # Assets and shares of a vault that came in exchange (deposit) or went (negative, withdrawal).
        _fact(
            "vault_flow", vault="address", sender="address", owner="address", assets="int256", shares="int256"
        ),
        # An ERC-20 transfer; ``token`` is the contract.
        _fact("transfer", token="address", sender="address", recipient="address", amount="uint256"),
        # A transfer of an NFT, such as a position of a v3 or v4 position manager.
        _fact(
            "nft_transfer", collection="address", sender="address", recipient="address", token_id="uint256"
        ),
        # What a position of a manager took in (positive) and paid out, in units of its two tokens. principal
        # is that of the liquidity that came or went, paid what left for the owner, fees included.
        _fact(
            "position_flow",
            contract="address",
            token_id="uint256",
            liquidity_delta="int256",
            principal0="int256",
            principal1="int256",
            paid0="uint256",
            paid1="uint256",
        ),
        # A transfer between networks: ``kind`` is sent, filled or refunded, ``transfer_id`` the bridge's.
        _fact(
            "bridge_event",
            bridge="text",
            kind="text",
            transfer_id="bytes32",
            origin_chain_id="int64",
            destination_chain_id="int64",
            token_in="bytes32",
            token_out="bytes32",
            amount_in="uint256",
            amount_out="uint256",
            sender="bytes32",
            recipient="bytes32",
        ),
    )
}
"""The facts that an ``EventRule`` may name."""

ROLLUPS: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        # One row for each hour in which something happened in a pool; ``hour`` is its start. Sums are of that
        # hour. Prices, principal, uncollected and tick are those at its end, or at the last event while it
        # lasts. ``principal_seconds`` is the principal times the seconds that it stood, ``tick_seconds`` the
        # tick times seconds, over ``seconds`` of the hour. Fees of flash loans are in LP and protocol fees.
        _rollup(
            "pool_hour",
            ("pool", "hour", "source"),
            "hour",
            pool="bytes",
            hour="int64",
            source="text",
            swaps="int64",
            volume0="uint256",
            volume1="uint256",
            washed0="uint256",
            washed1="uint256",
            lp_fee0="uint256",
            lp_fee1="uint256",
            protocol_fee0="uint256",
            protocol_fee1="uint256",
            flash_fee0="uint256",
            flash_fee1="uint256",
            donated0="uint256",
            donated1="uint256",
            principal0="uint256",
            principal1="uint256",
            uncollected0="uint256",
            uncollected1="uint256",
            principal_seconds0="uint256",
            principal_seconds1="uint256",
            tick_seconds="int256",
            seconds="int64",
            open_sqrt_price_x96="uint256",
            high_sqrt_price_x96="uint256",
            low_sqrt_price_x96="uint256",
            close_sqrt_price_x96="uint256",
            liquidity="uint256",
            inexact="int64",
        ),
        # The same of a pool that may have more than two tokens: one row for each token, in the order in which
        # the pool had them first, ``place`` from 0; its own shares among them are left out. ``swaps`` are
        # those that sold the token. What events do not tell is null. ``inexact`` is the pool's, in each row.
        _rollup(
            "pool_token_hour",
            ("pool", "hour", "source", "place"),
            "hour",
            pool="bytes",
            hour="int64",
            source="text",
            place="int32",
            token="address",
            swaps="int64",
            volume="uint256",
            washed="uint256",
            lp_fee="uint256",
            protocol_fee="uint256",
            donated="uint256",
            principal="uint256",
            principal_seconds="uint256",
            inexact="int64",
        ),
        # What a vault's shares were worth at the last block before the end of an hour, read from the vault:
        # ``assets_of_unit`` is what ``10 ** unit_exponent`` base units of shares convert to.
        _rollup(
            "vault_hour",
            ("vault", "hour"),
            "hour",
            vault="address",
            hour="int64",
            asset="address",
            block="int64",
            timestamp="int64",
            total_assets="uint256",
            total_supply="uint256",
            assets_of_unit="uint256",
            unit_exponent="int32",
        ),
        # The US dollars of a whole token over an hour, from the time-weighted prices of pools. Without a mean
        # there is no price: such a row replaces one of an hour that was computed again.
        _rollup(
            "token_hour",
            ("token", "hour"),
            "hour",
            token="address",
            hour="int64",
            open_usd="float",
            high_usd="float",
            low_usd="float",
            close_usd="float",
            mean_usd="float",
            depth_usd="float",
            confidence="float",
        ),
        # How far a computation has come: what it computes of events up to ``block`` and ``timestamp`` is
        # written. ``basis`` says from what, such as a version: with another one all rows may be others.
        # ``pools:`` and the id of a source are the hours of its pools, ``prices`` those of tokens.
        _rollup(
            "computed", ("part",), "timestamp", part="text", block="int64", timestamp="int64", basis="text"
        ),
        # The state of a pool from which its hours are computed on, at a finalised block.
        # That of the source itself, how far it is computed, has an empty pool.
        _rollup(
            "replay_state",
            ("pool", "source"),
            "block",
            pool="bytes",
            source="text",
            block="int64",
            state="text",
        ),
    )
}

TABLES: Final[Mapping[str, Table]] = {**FACTS, **ROLLUPS}

OF_EVENTS: Final = "pool_hour", "pool_token_hour", "token_hour"
"""The tables by hours that are computed from facts: a reorganisation deletes their newest rows."""
