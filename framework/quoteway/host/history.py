"""The past of wallets, from the enabled providers of metrics: asked through one door, and checked."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from quoteway.errors import GatewayError, UpstreamError
from quoteway.guard.findings import Expect, check_form, is_address
from quoteway.host.registry import Registry
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import (
    Address,
    Capability,
    IndexReach,
    KnownEvent,
    OwnedNfts,
    PositionFlows,
    TokenHours,
    WalletTokens,
    WalletTransfers,
)
from quoteway.wallet_history import MOST_TOKENS, MOST_TRANSFERS, WalletHistory

T = TypeVar("T")

_HASH = re.compile(r"0x[0-9a-f]{64}")
MOST_NFTS = 20_000
MOST_HOURS = 500_000
"""Over all tokens of an answer."""


class History(WalletHistory):
    """The past of wallets for one gateway: the first provider that knows it answers.

    A provider that fails is an error only where no other one answers.
    """

    def __init__(self, registry: Registry, timeout_s: float) -> None:
        self._registry = registry
        self._timeout_s = timeout_s

    async def wallet_tokens(self, chain_id: int, wallet: Address) -> WalletTokens | None:
        """See ``WalletHistory``."""

        def check(found: WalletTokens, expect: Expect) -> None:
            expect(len(found.received) <= MOST_TOKENS, f"it has more than {MOST_TOKENS} tokens")
            _check_reach(found.reach, expect)
            tokens = [each.token for each in found.received]
            expect(all(map(is_address, tokens)), "a token is no EIP-55 address")
            expect(len(set(tokens)) == len(tokens), "a token is there twice")

        return await self._first(
            chain_id,
            "wallet_tokens",
            WalletTokens,
            lambda source: source.wallet_tokens(chain_id, wallet),
            check,
        )

    async def wallet_transfers(
        self,
        chain_id: int,
        wallet: Address,
        *,
        before: tuple[int, int] | None = None,
        since_block: int = 0,
        limit: int = 1_000,
    ) -> WalletTransfers | None:
        """See ``WalletHistory``."""
        most = min(limit, MOST_TRANSFERS)

        def check(found: WalletTransfers, expect: Expect) -> None:
            _check_reach(found.reach, expect)
            expect(len(found.transfers) <= most, f"it has more than {most} transfers")
            places = [(each.block, each.log_index) for each in found.transfers]
            ordered = all(newer > older for newer, older in pairwise(places))
            expect(ordered, "its transfers are not newest first")
            for each in found.transfers:
                accounts = each.token, each.sender, each.recipient
                expect(all(map(is_address, accounts)), "a transfer names what is no EIP-55 address")
                expect(wallet in (each.sender, each.recipient), "a transfer is not one of the wallet")
                expect(_HASH.fullmatch(each.transaction_hash) is not None, "a transfer has no hash")
                expect(each.amount >= 0, "a transfer has a negative amount")
            expect(before is None or not places or places[0] < before, "a transfer is newer than asked for")

        return await self._first(
            chain_id,
            "wallet_transfers",
            WalletTransfers,
            lambda source: source.wallet_transfers(
                chain_id, wallet, before=before, since_block=since_block, limit=most
            ),
            check,
        )

    async def owned_nfts(self, chain_id: int, collection: Address, wallet: Address) -> OwnedNfts | None:
        """See ``WalletHistory``."""

        def check(found: OwnedNfts, expect: Expect) -> None:
            _check_reach(found.reach, expect)
            expect(len(found.token_ids) + len(found.had) <= MOST_NFTS, f"it has more than {MOST_NFTS} ids")
            ids = (*found.token_ids, *found.had)
            expect(all(0 <= each < 1 << 256 for each in ids), "an id is no uint256")

        return await self._first(
            chain_id,
            "owned_nfts",
            OwnedNfts,
            lambda source: source.owned_nfts(chain_id, collection, wallet),
            check,
        )

    async def position_flows(
        self, chain_id: int, contract: Address, token_id: int | None, owner: Address
    ) -> PositionFlows | None:
        """See ``WalletHistory``."""

        def check(found: PositionFlows, expect: Expect) -> None:
            _check_reach(found.reach, expect)
            expect(len(found.flows) <= MOST_TRANSFERS, f"it has more than {MOST_TRANSFERS} flows")
            places = [(each.block, each.log_index) for each in found.flows]
            expect(places == sorted(places), "its flows are not oldest first")
            hashes = all(_HASH.fullmatch(each.transaction_hash) for each in found.flows)
            expect(hashes, "a flow has no hash")

        return await self._first(
            chain_id,
            "position_flows",
            PositionFlows,
            lambda source: source.position_flows(chain_id, contract, token_id, owner),
            check,
        )

    async def hour_prices(
        self, chain_id: int, tokens: Sequence[Address], start: int, end: int
    ) -> Sequence[TokenHours] | None:
        """See ``WalletHistory``."""

        def check(found: Sequence[TokenHours], expect: Expect) -> None:
            expect(sum(len(each.hours) for each in found) <= MOST_HOURS, "it has too many hours")
            for each in found:
                expect(each.token in tokens, "it has a token that was not asked for")
                hours = [point.hour for point in each.hours]
                expect(hours == sorted(set(hours)), "its hours are not in order")
                are_asked = not hours or start <= hours[0] <= hours[-1] <= end
                expect(are_asked, "it has an hour that was not asked for")
                expect(all(point.usd >= 0 for point in each.hours), "a price is negative")

        return await self._first(
            chain_id,
            "hour_prices",
            tuple[TokenHours, ...],
            lambda source: source.hour_prices(chain_id, tokens, start, end),
            check,
        )

    async def known_events(
        self, chain_id: int, transactions: Sequence[tuple[int, str]]
    ) -> Sequence[KnownEvent] | None:
        """See ``WalletHistory``."""
        hashes = {transaction_hash for _, transaction_hash in transactions}

        def check(found: Sequence[KnownEvent], expect: Expect) -> None:
            expect(len(found) <= MOST_TRANSFERS, f"it has more than {MOST_TRANSFERS} events")
            named = all(each.transaction_hash in hashes for each in found)
            expect(named, "an event is of a transaction that was not asked for")

        return await self._first(
            chain_id,
            "known_events",
            tuple[KnownEvent, ...],
            lambda source: source.known_events(chain_id, transactions),
            check,
        )

    async def pools_untouched(
        self, chain_id: int, after_block: int, until_block: int, transaction_hash: str
    ) -> bool | None:
        """See ``WalletHistory``."""
        return await self._first(
            chain_id,
            "pools_untouched",
            bool,
            lambda source: source.pools_untouched(chain_id, after_block, until_block, transaction_hash),
            lambda found, expect: None,
        )

    async def _first(
        self,
        chain_id: int,
        verb: str,
        kind: Any,
        ask: Callable[[MetricsProvider], Awaitable[T | None]],
        check: Callable[[T, Expect], None],
    ) -> T | None:
        """Returns the first answer in configured order, or None when no provider has one."""

        async def checked(source: MetricsProvider) -> T | None:
            answer = await ask(source)
            check_form(source, answer, kind | None)
            if answer is not None:
                check(answer, Expect(source))
            return answer

        enabled = self._registry.enabled(Capability.METRICS, chain_id)
        sources = [source for source in enabled if isinstance(source, MetricsProvider)]
        if not sources:
            return None
        outcomes = await self._registry.calls.ask_all(
            sources, checked, verb=verb, timeout_s=self._timeout_s, scope=chain_id
        )
        found = next((outcome.value for outcome in outcomes if outcome.value is not None), None)
        failed = next((outcome for outcome in outcomes if outcome.failed), None)
        if found is None and failed is not None:
            error: GatewayError = failed.failure("The index could not be read.")
            raise error if isinstance(error, UpstreamError) else UpstreamError(error.message)
        return found


def _check_reach(reach: IndexReach, expect: Expect) -> None:
    expect(0 <= reach.first <= reach.last + 1, "it reaches from a later block to an earlier one")
