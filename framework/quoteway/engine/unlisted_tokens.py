"""Judges tokens that a wallet received and that no catalog lists: which of them are spam, by what rules.

Anyone can send any wallet a token with any name. The rules are facts that a caller can check: they mark a
token, and remove none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from quoteway.evm import erc20
from quoteway.evm.address import unused_address
from quoteway.host.refresh import Refresher, RefreshPolicy
from quoteway.host.runtime import Runtime
from quoteway.host.token_directory import TokenDirectory
from quoteway.models import Address, ReceivedToken, SimulatedCall, SimulationUnsupported, Token

LINK, PROMISE, LOOK_ALIKE, MASS_GIFT, NOT_TRANSFERABLE = SPAM_RULES = (
    *("link", "promise", "look_alike"),
    *("mass_gift", "not_transferable"),
)
"""Symbol or name has a web address; or promises something; the symbol looks like that of a listed token; the
wallet got it in one transaction with ``MASS_GIFT_TRANSFERS`` transfers and never sent it; the wallet cannot
transfer what it has."""
MASS_GIFT_TRANSFERS: Final = 50
MOST_TRIED = 128
"""Of one wallet on one network, in one request."""
TRY_WAIT_S = 0.25
_CALL_GAS = 500_000
_AT_ONCE = 100
"""Tokens that are judged before other requests have their turn."""
_TRIED_AGAIN_S = 600.0
_MOST_KEPT = 20_000
_TAKER = unused_address("quoteway.engine.unlisted_tokens")

# A name of two labels with one of the usual endings, or any address with a scheme.
_LINK = re.compile(
    r"://|\bwww\.|\bt\.me\b|\b[a-z0-9-]{2,}\.(?:com|net|org|io|xyz|app|fi|finance|site|online|top|live|club|vip|pro|info"
    r"|co|me|cc|us|eu|to|gg|gift|lol|link|events?|claims?|cash|money|network|website|space|store|shop|eth)\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"\b(?:claim|airdrop|reward|voucher|visit|bonus|redeem|giveaway|winner|eligible|free ?mint|gift)",
    re.IGNORECASE,
)

_Key: TypeAlias = tuple[int, Address, Address, int]
"""Chain id, wallet, token and what the wallet has of it."""


class UnlistedTokens:
    """The judgements of one gateway."""

    def __init__(self, runtime: Runtime, tokens: TokenDirectory) -> None:
        self._runtime = runtime
        self._tokens = tokens
        self._transferable: Refresher[_Key, bool] = Refresher(
            self._try, RefreshPolicy(fresh_s=_TRIED_AGAIN_S, retry_s=30.0), most_keys=_MOST_KEPT
        )

    async def spam(
        self,
        chain_id: int,
        wallet: Address,
        held: Mapping[Address, tuple[Token, int]],
        received: Mapping[Address, ReceivedToken],
    ) -> dict[Address, tuple[str, ...]]:
        """Returns the rules that each unlisted token of a wallet breaks, for those that break any.

        ``held`` are tokens and amounts in base units. A pair of a known factory breaks none. What cannot be
        tried in time breaks no rule.
        """
        found: dict[Address, list[str]] = {}
        for count, (address, (token, _)) in enumerate(held.items(), 1):
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)  # a wallet may have thousands: others are answered in between
            known = received.get(address)
            if known is None or known.kind != "pair":
                found[address] = await self._by_text(token)
                if known is not None and not known.sent and known.given_to >= MASS_GIFT_TRANSFERS:
                    found[address].append(MASS_GIFT)
        unmarked = [address for address, rules in found.items() if not rules][:MOST_TRIED]
        keys = [(chain_id, wallet, address, held[address][1]) for address in unmarked]
        self._transferable.begin(*keys)
        running = self._transferable.running(keys)
        if running:
            await asyncio.wait(running, timeout=TRY_WAIT_S)
        for key in keys:
            if self._transferable.known(key).value is False:
                found[key[2]].append(NOT_TRANSFERABLE)
        return {address: tuple(rules) for address, rules in found.items() if rules}

    async def close(self) -> None:
        """Stops simulations in progress."""
        await self._transferable.close()

    async def _by_text(self, token: Token) -> list[str]:
        facts = self._tokens.facts(token.chain_id, token.address)
        texts = (token.symbol, token.name) if facts is None else (facts.raw_symbol, facts.raw_name)
        shown = " ".join(text for text in texts if text)
        rules = [rule for rule, pattern in ((LINK, _LINK), (PROMISE, _PROMISE)) if pattern.search(shown)]
        if await self._tokens.look_alike(token) is not None:
            rules.append(LOOK_ALIKE)
        return rules

    async def _try(self, keys: Sequence[_Key]) -> dict[_Key, bool]:
        """Returns whether each wallet can transfer what it has of each token, in one simulation."""
        chain_id = keys[0][0]
        chain = self._runtime.chain(chain_id)
        calls = [
            SimulatedCall(wallet, token, erc20.TRANSFER.encode([_TAKER, amount]), gas=_CALL_GAS)
            for _, wallet, token, amount in keys
        ]
        try:
            results = await chain.simulate(calls, block=await chain.head())
        except SimulationUnsupported:
            return {}
        return {key: result.ok for key, result in zip(keys, results, strict=True)}
