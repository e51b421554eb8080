"""What vaults' shares were worth: ``vault_hour``, read from the vaults at the last block of each hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from quoteway import Address, Block, Chain, Context, GatewayError
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes, checksum
from quoteway.evm.chain import Call

from quoteway_indexer.block_times import BlockTimes
from quoteway_indexer.computing import Computation, Frontier
from quoteway_indexer.store import Commit, Condition, Row, Select, Sum
from quoteway_indexer.writing import Writer

FAMILY = "erc4626"
HOUR_S = 3_600
MOST_VAULTS = 500
"""The vaults of a chain that are read: the configured ones first, then those that most flows went through."""
_CONVERT_TO_ASSETS = function("convertToAssets(uint256 shares) returns (uint256)")
_ASSET = function("asset() returns (address)")
_TOTAL_ASSETS = function("totalAssets() returns (uint256)")
_READ_GAS = 10_000_000
_HOURS_A_COMMIT = 48
_MOST_MISSED = 720
"""After a longer stop, the older hours stay missing: nodes have no state for them."""
_HOURS_A_CALL = 96
"""How many hours one call goes back, so that new blocks do not wait."""
_RETRY_S = HOUR_S
"""How long a node without an older state is not asked for older ones."""


@dataclass(slots=True)
class _Kept:
    """The hours of a vault that were read: all from ``first`` to ``last``, but those that nobody has."""

    first: int
    last: int


class VaultPrices(Computation):
    """Reads the share prices of all vaults of the chain's sources of family ``erc4626``.

    Newest hours first, and back as far as the node has state. Hours are read once, at blocks that no
    reorganisation takes back; those whose state nobody has stay missing.
    """

    def __init__(self, context: Context, chain: Chain, writer: Writer) -> None:
        self._context = context
        self._chain = chain
        self._writer = writer
        self._times = BlockTimes(chain)
        self._sources = [
            source
            for source in context.event_sources
            if source.chain_id == chain.network.chain_id and source.family == FAMILY
        ]
        self._kept: dict[Address, _Kept | None] = {}
        self._units: dict[Address, int] = {}
        self._read_to = 0
        self._none_before: dict[Address, int] = {}
        """The hour before which a vault has no state, for now."""
        self._retry_at = 0

    async def advance(self, frontier: Frontier) -> None:
        """See ``Computation``. Waits for the next call when the chain cannot be read."""
        if not self._sources:
            return
        try:
            await self._advance(frontier)
        except GatewayError as error:
            self._context.log.warning(
                "share prices of chain %d wait for the next blocks: %s", frontier.chain_id, error
            )

    async def _advance(self, frontier: Frontier) -> None:
        final = await self._chain.block(frontier.finalized)
        ends = final.timestamp // HOUR_S * HOUR_S
        if ends > self._read_to or frontier.head.timestamp >= self._retry_at:
            await self._find_vaults()
            if frontier.head.timestamp >= self._retry_at:
                self._none_before.clear()
                self._retry_at = frontier.head.timestamp + _RETRY_S
        newest = ends - HOUR_S
        await self._read_new(newest, final)
        self._read_to = ends
        await self._read_old(final)

    async def _find_vaults(self) -> None:
        """Learns of vaults and of the hours that are stored of each."""
        chain = Condition("chain_id", "=", self._chain.network.chain_id)
        flows = await self._writer.fetch(Sum("vault_flow", ("vault",), (), (chain,)))
        flows.sort(key=lambda row: -int(row[-1] or 0))
        found = [address for source in self._sources for address in source.addresses]
        found += [checksum("0x" + vault.hex()) for vault, *_ in flows if isinstance(vault, bytes)]
        for vault in list(dict.fromkeys(found))[:MOST_VAULTS]:
            if vault in self._units:
                continue
            share = await self._context.token(self._chain.network.chain_id, vault)
            if share is None:
                continue
            self._units[vault] = unit_exponent(share.decimals)
            where = (chain, Condition("vault", "=", address_bytes(vault)))
            ends = [
                await self._writer.fetch(Select("vault_hour", ("hour",), where, (order,), 1))
                for order in ("hour", "-hour")
            ]
            hours = [int(rows[0][0] or 0) for rows in ends if rows]
            self._kept[vault] = _Kept(*hours) if len(hours) == 2 else None

    async def _read_new(self, newest: int, final: Block) -> None:
        """Reads the hours after the stored ones, the newest first, and writes them together.

        So a process that ends meanwhile leaves no hole: it begins again.
        """
        behind = {
            vault: newest if kept is None else max(kept.last + HOUR_S, newest - _MOST_MISSED * HOUR_S)
            for vault, kept in self._kept.items()
            if kept is None or kept.last < newest
        }
        if not behind:
            return
        rows: list[Row] = []
        for hour in range(newest, min(behind.values()) - 1, -HOUR_S):
            found = await self._read_hour(hour, [v for v, first in behind.items() if first <= hour], final)
            if found is None:
                break
            rows += found.values()
        await self._write(rows)
        read = {checksum("0x" + bytes(row[1]).hex()) for row in rows if isinstance(row[1], bytes)}
        for vault in behind:
            kept = self._kept[vault]
            if kept is not None:
                kept.last = newest
            elif vault in read:
                self._kept[vault] = _Kept(newest, newest)

    async def _read_old(self, final: Block) -> None:
        """Reads the hours before the stored ones."""
        for _ in range(0, _HOURS_A_CALL, _HOURS_A_COMMIT):
            rows: list[Row] = []
            for _ in range(_HOURS_A_COMMIT):
                wanted = {vault: kept.first - HOUR_S for vault, kept in self._kept.items() if kept}
                wanted = {v: hour for v, hour in wanted.items() if hour >= self._none_before.get(v, 0)}
                if not wanted:
                    break
                hour = max(wanted.values())
                vaults = [vault for vault, each in wanted.items() if each == hour]
                found = await self._read_hour(hour, vaults, final)
                if found is None:
                    self._none_before.update(dict.fromkeys(self._kept, hour + HOUR_S))
                    break
                for vault in vaults:
                    kept = self._kept[vault]
                    if vault in found and kept is not None:
                        kept.first = hour
                    else:  # the vault did not exist, or gave no price
                        self._none_before[vault] = hour + HOUR_S
                rows += found.values()
            if not rows:
                return
            await self._write(rows)

    async def _read_hour(
        self, hour: int, vaults: Sequence[Address], final: Block
    ) -> Mapping[Address, Row] | None:
        """Returns the rows of vaults by their addresses; None where no node has the state."""
        block = await self._times.last_before(hour + HOUR_S, final)
        if block is None:
            return None
        reads = [call for vault in vaults for call in self._reads(vault)]
        try:
            answers = await self._chain.call_many(reads, block=block)
        except GatewayError as error:
            if block.number == final.number:
                raise
            self._context.log.debug("no state of block %d: %s", block.number, error)
            return None
        rows: dict[Address, Row] = {}
        for at, vault in enumerate(vaults):
            price, asset, assets, supply = (erc20.word(answer) for answer in answers[4 * at : 4 * at + 4])
            if price is not None and asset is not None and asset >> 160 == 0:
                place = self._chain.network.chain_id, address_bytes(vault), hour, asset.to_bytes(20)
                state = block.number, block.timestamp, assets, supply, price, self._units[vault]
                rows[vault] = (*place, *state)
        return rows

    def _reads(self, vault: Address) -> Iterable[Call]:
        yield Call(vault, _CONVERT_TO_ASSETS.encode([10 ** self._units[vault]]), gas=_READ_GAS)
        yield Call(vault, _ASSET.encode([]), gas=_READ_GAS)
        yield Call(vault, _TOTAL_ASSETS.encode([]), gas=_READ_GAS)
        yield Call(vault, erc20.TOTAL_SUPPLY.encode([]), gas=_READ_GAS)

    async def _write(self, rows: Sequence[Row]) -> None:
        if rows:
            await self._writer.commit(Commit(self._chain.network.chain_id, rollups={"vault_hour": rows}))


def unit_exponent(decimals: int) -> int:
    """Returns the exponent of the shares whose price is read: 12 digits more precise than one share.

    It is limited for tokens with very many decimals, where some vaults would overflow.
    """
    return decimals + 12 if decimals <= 24 else min(decimals, 48)
