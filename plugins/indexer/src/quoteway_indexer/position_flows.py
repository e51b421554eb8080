"""What positions took in and paid out, by the events of managers, pools, pairs and vaults."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from quoteway import NATIVE, Address, PositionFlow
from quoteway.evm.address import address_bytes
from quoteway_amm import amounts_for_liquidity, amounts_to_mint, sqrt_ratio_at_tick

from quoteway_indexer.store import Condition, Reader, Row, Select, Value

MOST_FLOWS = 1_000
_PLACE = ("block", "log_index", "timestamp", "transaction_hash")
_AT_ONCE = 16
"""How many prices of a pool are read at a time."""


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows, oldest first; ``more``: newer ones were left out."""

    flows: tuple[PositionFlow, ...]
    more: bool = False


class PositionReader:
    """Reads the flows of positions of one index."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lane = asyncio.Semaphore(_AT_ONCE)

    async def manager_flows(self, chain_id: int, manager: Address, token_id: int) -> Flows:
        """Returns the flows of a v3 position token, by the manager's own events."""
        columns = (*_PLACE, "liquidity_delta", "principal0", "principal1", "paid0", "paid1")
        rows, more = await self._oldest(
            "position_flow",
            columns,
            Condition("chain_id", "=", chain_id),
            Condition("contract", "=", address_bytes(manager)),
            Condition("token_id", "=", token_id),
        )
        return Flows(
            tuple(_flow(row, cast(int, row[4]), _pair(row[5:7]), _pair(row[7:9])) for row in rows), more
        )

    async def salted_flows(self, chain_id: int, manager: Address, token_id: int) -> Flows:
        """Returns the flows of a v4 position token, by the events of its pool.

        They have no amounts: the principal is what the contract takes or pays for the liquidity at the
        pool's price then. What was collected is not known.
        """
        rows, more = await self._oldest(
            "liquidity",
            (*_PLACE, "liquidity_delta", "pool", "tick_lower", "tick_upper"),
            Condition("chain_id", "=", chain_id),
            Condition("owner", "=", address_bytes(manager)),
            Condition("salt", "=", token_id.to_bytes(32)),
        )
        principals = await asyncio.gather(*(self._principal(chain_id, row) for row in rows))
        return Flows(
            tuple(
                _flow(row, cast(int, row[4]), principal)
                for row, principal in zip(rows, principals, strict=True)
            ),
            more,
        )

    async def vault_flows(self, chain_id: int, vault: Address, owner: Address) -> Flows:
        """Returns what an account deposited in a vault and withdrew from it."""
        rows, more = await self._oldest(
            "vault_flow",
            (*_PLACE, "shares", "assets"),
            Condition("chain_id", "=", chain_id),
            Condition("vault", "=", address_bytes(vault)),
            Condition("owner", "=", address_bytes(owner)),
        )
        return Flows(tuple(_flow(row, cast(int, row[4]), (cast(int, row[5]),)) for row in rows), more)

    async def pair_flows(self, chain_id: int, pair: Address, owner: Address) -> Flows:
        """Returns what an account added to a v2 pair and removed from it.

        Shares that came from another account, or went to one, have no amounts.
        """
        here = Condition("chain_id", "=", chain_id)
        token, account = address_bytes(pair), address_bytes(owner)
        ends = ("sender", "recipient")
        (sent, more_sent), (got, more_got) = await asyncio.gather(
            *(
                self._oldest(
                    "share_transfer",
                    (*_PLACE, "amount", *ends),
                    here,
                    Condition("pool", "=", token),
                    Condition(end, "=", account),
                )
                for end in ends
            )
        )
        rows = sorted([*sent, *got], key=_place)
        blocks = tuple({row[0] for row in rows})
        changes: list[Row] = []
        if blocks:
            changes, _ = await self._oldest(
                "liquidity",
                (*_PLACE, "amount0", "amount1"),
                here,
                Condition("pool", "=", token),
                Condition("block", "in", blocks),
            )
        flows: list[PositionFlow] = []
        for row in rows:
            amount, sender, recipient = cast(int, row[4]), row[5], row[6]
            if sender == recipient:
                continue
            came = recipient == account
            # The pair mints to the owner, or the owner sends it what it burns: the change is logged after it.
            is_own = sender == address_bytes(NATIVE) if came else recipient == token
            change = next(
                (each for each in changes if each[3] == row[3] and _place(each) > _place(row)), None
            )
            principal = _pair(change[4:6]) if is_own and change is not None else None
            flows.append(_flow(row, amount if came else -amount, principal))
        return Flows(tuple(flows[:MOST_FLOWS]), more_sent or more_got or len(flows) > MOST_FLOWS)

    async def _oldest(
        self, table: str, columns: tuple[str, ...], *where: Condition
    ) -> tuple[list[Row], bool]:
        query = Select(table, columns, where, ("block", "log_index"), MOST_FLOWS + 1)
        rows = await self._reader.fetch(query)
        return rows[:MOST_FLOWS], len(rows) > MOST_FLOWS

    async def _principal(self, chain_id: int, row: Row) -> tuple[int, ...] | None:
        delta, pool, lower, upper = cast(tuple[int, bytes, int, int], row[4:8])
        if not delta:
            return 0, 0
        async with self._lane:
            price = await self._price_before(chain_id, pool, *_place(row))
        if price is None:
            return None
        bounds = sqrt_ratio_at_tick(lower), sqrt_ratio_at_tick(upper)
        if delta > 0:
            return amounts_to_mint(price, *bounds, delta)
        return tuple(-amount for amount in amounts_for_liquidity(price, *bounds, -delta))

    async def _price_before(self, chain_id: int, pool: bytes, block: int, log_index: int) -> int | None:
        """Returns the sqrt price of a pool as of an event in it."""
        here = Condition("chain_id", "=", chain_id), Condition("pool", "=", pool)
        for where in (
            (Condition("block", "=", block), Condition("log_index", "<", log_index)),
            (Condition("block", "<", block),),
        ):
            query = Select("swap", ("sqrt_price_x96",), (*here, *where), ("-block", "-log_index"), 1)
            for (price,) in await self._reader.fetch(query):
                return cast("int | None", price)
        for (price,) in await self._reader.fetch(Select("pool_created", ("sqrt_price_x96",), here)):
            return cast("int | None", price)
        return None


def _flow(
    row: Row,
    liquidity_delta: int,
    principal: tuple[int, ...] | None,
    paid: tuple[int, ...] | None = None,
) -> PositionFlow:
    block, log_index, timestamp = cast(tuple[int, int, int], row[:3])
    return PositionFlow(
        block,
        log_index,
        timestamp,
        "0x" + cast(bytes, row[3]).hex(),
        liquidity_delta,
        principal,
        paid,
    )


def _pair(values: Sequence[Value]) -> tuple[int, ...] | None:
    return None if None in values else cast(tuple[int, ...], tuple(values))


def _place(row: Row) -> tuple[int, int]:
    return cast(tuple[int, int], row[:2])
