"""What the swaps that were handed out came to on the chain, beside what was quoted.

An action's swap is found on the chain in two ways: a caller reports its hash, or the index of the deployment
shows a transfer of its accounts, and the transaction of that transfer is the one that was built. Nothing else
counts: a transaction is compared member by member with the commitment of its ``txId``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import sys
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import Any, Literal

from cachetools import LRUCache, TLRUCache, TTLCache

from quoteway import models
from quoteway.engine.quote_tokens import Sealer, TransactionCommitment, blanked, blanks_of, calldata_hash
from quoteway.engine.settlement import Settlement, settlement
from quoteway.errors import GatewayError, NotFound
from quoteway.evm.address import checksum
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.models import Address, Capability, PairClass, SizeClass

log = logging.getLogger("quoteway.engine.fills")

MOST_PROMISES = 4_096
PROMISE_S = 3_600.0
"""How long a transaction of an action is looked for at most, and where the action has no deadline."""
INDEXED_S = 600.0
"""How long after the deadline of an action: its transaction may be mined then, and is indexed after that."""
MOST_FILLS = 1_000
"""Of one provider: the newest ones."""
LOOK_EVERY_S = 3.0
MOST_ACCOUNTS = 32
"""How many accounts the index is asked for in one round; the others follow in the next ones."""
MOST_CANDIDATES = 64
"""How many transactions are read in one round."""
MOST_TRANSFERS = 200
_PRICE_WAIT_S = 0.5

_SIZES: tuple[tuple[float, SizeClass], ...] = (
    (1e2, "under100"),
    (1e3, "under1k"),
    (1e4, "under10k"),
    (1e5, "under100k"),
    (1e6, "under1M"),
)
_DOLLAR_BAND = 0.02


@dataclass(frozen=True, slots=True)
class Promise:
    """A swap that was handed out. ``tx_id`` names its last transaction, which was run on the block
    ``block_number``. It is looked for ``kept_s`` long.

    ``key`` is that of ``_key`` for its last transaction, with ``blanks`` for its signatures. To open
    ``tx_id`` takes 0.1 ms, so it is opened for the transaction with that key only.

    Thousands of them are kept: they have no more of their action than is needed.
    """

    provider: str
    tx_id: str
    chain_id: int
    accounts: tuple[Address, ...]
    sold: Address
    sold_units: float
    bought: Address
    block_number: int
    kept_s: float
    key: int
    blanks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """A swap that was mined. ``vs_quote_bps`` is what it paid beside the quote: None when it is not known.

    ``same_state``: no other transaction changed a pool that it went through since its action was made; None
    where no index tells.
    """

    chain_id: int
    pair: PairClass
    size: SizeClass
    status: Literal["confirmed", "reverted"]
    vs_quote_bps: int | None
    same_state: bool | None
    block_number: int
    found_by: Literal["report", "index"]


@dataclass(frozen=True, slots=True)
class Performance:
    """The fills of one chain, class of pairs and size: numbers, and basis points beside the quote."""

    chain_id: int
    pair: PairClass
    size: SizeClass
    fills: int
    reverted: int
    median_bps: int | None
    mean_bps: float | None
    worst_bps: int | None
    same_state: int
    same_state_exact: int


class Fills:
    """The fills of one gateway, since it started. Every method returns at once, but for ``close``."""

    def __init__(self, runtime: Runtime, registry: Registry, sealer: Sealer) -> None:
        self._runtime = runtime
        self._registry = registry
        self._sealer = sealer
        self.since = runtime.now()
        self._promises: TLRUCache[str, Promise] = TLRUCache(MOST_PROMISES, _kept_until)
        """By the id of the action."""
        self._done: TTLCache[str, None] = TTLCache(2 * MOST_PROMISES, PROMISE_S)
        self._seen: LRUCache[tuple[int, str], None] = LRUCache(8 * MOST_PROMISES)
        """Transactions that are none of the promises' on their chain."""
        self._fills: defaultdict[str, deque[Fill]] = defaultdict(lambda: deque(maxlen=MOST_FILLS))
        self._work: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._turn = 0

    async def close(self) -> None:
        """Stops looking for transactions."""
        running = [*self._work, *([self._looking] if self._looking is not None else [])]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def issued(self, sealed: models.SealedQuote, action: models.Action) -> None:
        """Notes an action. Only swaps of one provider on one network count."""
        is_swap = sealed.capability is Capability.SWAP and not sealed.parts
        if not is_swap or len(action.inputs) != 1 or len(action.outputs) != 1 or not action.steps:
            return
        sold, bought = action.inputs[0], action.outputs[0]
        if bought.token.chain_id != action.chain_id or action.action_id in self._done:
            return
        until = math.inf if action.deadline is None else action.deadline + INDEXED_S
        last = action.steps[-1]
        blanks = blanks_of(action.signatures, last.index)
        self._promises[action.action_id] = Promise(
            provider=sealed.provider,
            tx_id=last.tx_id,
            chain_id=action.chain_id,
            accounts=tuple(dict.fromkeys((action.sender, bought.account))),
            sold=sys.intern(sold.token.address),
            sold_units=sold.amount / 10**sold.token.decimals,
            bought=sys.intern(bought.token.address),
            block_number=action.block.number,
            kept_s=min(until - self._runtime.now(), PROMISE_S),
            key=_key(action.sender, last.to, last.value, last.data, blanks),
            blanks=blanks,
        )
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="fills: look")

    def reported(
        self, commitment: TransactionCommitment, tx_hash: str, settled: Settlement, *, matches: bool
    ) -> None:
        """Notes the settlement of a transaction that a caller reported."""
        promise = self._promises.get(commitment.action_id)
        if promise is None or not matches or not commitment.outputs:
            return
        self._start(self._keep(promise, commitment.action_id, tx_hash, settled, "report"))

    def of(self, provider_id: str) -> list[Performance]:
        """Returns a provider's performance, by chain, class of pairs and size."""
        groups: defaultdict[tuple[int, PairClass, SizeClass], list[Fill]] = defaultdict(list)
        for fill in self._fills.get(provider_id, ()):
            groups[fill.chain_id, fill.pair, fill.size].append(fill)
        return [_performance(key, fills) for key, fills in sorted(groups.items())]

    @property
    def waiting(self) -> int:
        """Returns how many swaps that were handed out are still looked for."""
        return len(self._promises)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work, name="fills: settle")
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    # --- looking for transactions with the index ----------------------------------------------------------

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._promises.expire()
            if not self._promises:
                return
            if not self._registry.enabled(Capability.METRICS):
                continue
            try:
                await self._round()
            except GatewayError as error:
                log.info("swaps could not be looked for: %s", error.message)
            except Exception:
                log.exception("looking for swaps failed")

    async def _round(self) -> None:
        """Asks the index for the transfers of some accounts and compares their transactions."""
        wanted: defaultdict[tuple[int, Address], list[tuple[str, Promise]]] = defaultdict(list)
        for identity in list(self._promises):
            if (promise := self._promises.get(identity)) is None:  # its time has passed since the line before
                continue
            for account in promise.accounts:
                wanted[promise.chain_id, account].append((identity, promise))
        keys = sorted(wanted)
        self._turn %= max(len(keys), 1)
        some = (keys[self._turn :] + keys[: self._turn])[:MOST_ACCOUNTS]
        self._turn += len(some)
        left = MOST_CANDIDATES
        for chain_id, account in some:
            hashes = await self._candidates(chain_id, account, [p for _, p in wanted[chain_id, account]])
            for tx_hash in hashes[:left]:
                left -= 1
                await self._compare(chain_id, tx_hash, wanted[chain_id, account])

    async def _candidates(self, chain_id: int, account: Address, promises: Sequence[Promise]) -> list[str]:
        """Returns the transactions that moved a token of the promises since they were made."""
        since = min(promise.block_number for promise in promises)
        found = await self._runtime.history.wallet_transfers(
            chain_id, account, since_block=since, limit=MOST_TRANSFERS
        )
        if found is None:
            return []
        tokens = {token for promise in promises for token in (promise.sold, promise.bought)}
        hashes = (each.transaction_hash for each in found.transfers if each.token in tokens)
        return [each for each in dict.fromkeys(hashes) if (chain_id, each) not in self._seen]

    async def _compare(self, chain_id: int, tx_hash: str, promises: Sequence[tuple[str, Promise]]) -> None:
        chain = self._runtime.chain(chain_id)
        found, receipt = await asyncio.gather(
            chain.request("eth_getTransactionByHash", [tx_hash], shared=False),
            chain.request("eth_getTransactionReceipt", [tx_hash], shared=False),
        )
        if not isinstance(found, Mapping) or not isinstance(receipt, Mapping):
            return  # the node is behind the index
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
            for identity, promise in _alike(found, promises):
                commitment = self._commitment(promise)
                if commitment is None or not _is_same(found, commitment):
                    continue
                settled = await settlement(chain, commitment, found, receipt, matches=True)
                await self._keep(promise, identity, tx_hash, settled, "index")
                return
        self._seen[chain_id, tx_hash] = None

    def _commitment(self, promise: Promise) -> TransactionCommitment | None:
        try:
            return self._sealer.open_transaction(promise.tx_id)
        except NotFound:
            return None

    # --- what was found -----------------------------------------------------------------------------------

    async def _keep(
        self,
        promise: Promise,
        identity: str,
        tx_hash: str,
        settled: Settlement,
        found_by: Literal["report", "index"],
    ) -> None:
        if settled.status == "unknown" or identity in self._done:
            return
        # Before anything is awaited: a report and the index may find it at once.
        self._done[identity] = None
        self._promises.pop(identity, None)
        pair, size = await self._class_of(promise)
        same = await self._same_state(promise, tx_hash, settled)
        self._fills[promise.provider].append(
            Fill(
                promise.chain_id,
                pair,
                size,
                settled.status,
                settled.vs_quote_bps,
                same,
                settled.block_number,
                found_by,
            )
        )
        await self._score(promise, settled, same)

    async def _class_of(self, promise: Promise) -> tuple[PairClass, SizeClass]:
        tokens = [promise.sold, promise.bought]
        prices = await self._runtime.prices.get(promise.chain_id, tokens, wait_s=_PRICE_WAIT_S)
        usd = [None if token not in prices else prices[token].usd for token in tokens]
        if usd[0] is None or usd[1] is None:
            return "unknown", "unknown"
        dollars = sum(abs(each - 1) <= _DOLLAR_BAND for each in usd if each is not None)
        pairs: tuple[PairClass, ...] = ("other", "dollar", "dollars")
        worth = promise.sold_units * usd[0]
        return pairs[dollars], next((size for most, size in _SIZES if worth < most), "over1M")

    async def _same_state(self, promise: Promise, tx_hash: str, settled: Settlement) -> bool | None:
        try:
            return await self._runtime.history.pools_untouched(
                promise.chain_id, promise.block_number, settled.block_number, tx_hash
            )
        except GatewayError:
            return None

    async def _score(self, promise: Promise, settled: Settlement, same: bool | None) -> None:
        """Counts a swap on the very state of its quote: what it paid otherwise is the provider's doing.

        Not with tokens of no list: a caller can make one that takes a part for itself.
        """
        provider = self._registry.get(Capability.SWAP, promise.provider)
        if provider is None or not same or settled.vs_quote_bps is None:
            return
        listed = await self._runtime.tokens.listed(promise.chain_id)
        tokens = {promise.sold, promise.bought}
        if tokens <= {*listed, models.NATIVE}:
            self._registry.scores.count(provider, failed=settled.vs_quote_bps < 0)


def _kept_until(identity: str, promise: Promise, now: float) -> float:
    return now + promise.kept_s


def _alike(
    found: Mapping[str, Any], promises: Sequence[tuple[str, Promise]]
) -> Iterator[tuple[str, Promise]]:
    """Yields the promises whose key a transaction, as a node tells of it, has."""
    sender, to = checksum(found["from"]), checksum(found["to"])
    value, data = int(found["value"], 16), bytes.fromhex(found["input"][2:])
    keys: dict[tuple[tuple[int, int], ...], int] = {}
    for identity, promise in promises:
        if promise.blanks not in keys:
            keys[promise.blanks] = _key(sender, to, value, data, promise.blanks)
        if keys[promise.blanks] == promise.key:
            yield identity, promise


def _key(sender: Address, to: Address, value: int, data: bytes, blanks: tuple[tuple[int, int], ...]) -> int:
    """Returns a number that the same transactions have in this process, and others hardly ever."""
    return hash((sender, to, value, blanked(data, blanks)))


def _is_same(found: Mapping[str, Any], commitment: TransactionCommitment) -> bool:
    """Returns whether a transaction as a node tells of it is the committed one."""
    return (
        checksum(found["from"]) == commitment.sender
        and checksum(found["to"]) == commitment.to
        and int(found["value"], 16) == commitment.value
        and calldata_hash(bytes.fromhex(found["input"][2:]), commitment.blanks) == commitment.data_hash
    )


def _performance(key: tuple[int, PairClass, SizeClass], fills: Sequence[Fill]) -> Performance:
    said = [fill.vs_quote_bps for fill in fills if fill.vs_quote_bps is not None]
    same = [fill for fill in fills if fill.same_state and fill.vs_quote_bps is not None]
    return Performance(
        *key,
        fills=len(fills),
        reverted=sum(fill.status == "reverted" for fill in fills),
        median_bps=median_low(said) if said else None,
        mean_bps=round(fmean(said), 3) if said else None,
        worst_bps=min(said) if said else None,
        same_state=len(same),
        same_state_exact=sum(fill.vs_quote_bps == 0 for fill in same),
    )
