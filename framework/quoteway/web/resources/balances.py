"""The balances of one wallet or several across networks, and what they are worth."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quoteway.errors import UpstreamError
from quoteway.evm.holdings import Holding, Holdings, read_holdings
from quoteway.models import NATIVE, Address, Block, Price, Token
from quoteway.networks import Network
from quoteway.pricing.valuation import Valuation, total
from quoteway.web.http.fields import ListOf, NetworkField, QueryBoolean, StrictBoolean
from quoteway.web.http.freshness import FreshBody, FreshQuery
from quoteway.web.http.name_fields import NAMES, AccountField, TokenField
from quoteway.web.http.operation import Call, get, post
from quoteway.web.resources.wallet_reads import (
    MAX_TOKENS,
    NO_TOKEN,
    fair_shares,
    networks_asked,
    read_each,
    tokens_field,
)
from quoteway.web.resources.wallet_tokens import (
    OF_UNLISTED_TOKENS,
    TokensToRead,
    named_tokens,
    tokens_to_read,
)
from quoteway.web.wire.holdings import (
    Balances,
    BalancesOfWallets,
    Missing,
    ValuedHolding,
)
from quoteway.web.wire.view import Wire

MAX_WALLETS = 20
VALUES_WAIT_S = 0.25
"""How long an answer waits for prices once the balances are read."""
MOST_NAMED = 200
"""How many unlisted tokens of a network get symbol and name in one request; later ones get the rest."""

_INCLUDE_NATIVE = "Whether the balance of the native coin is read too"
_INCLUDE_UNLISTED = (
    "Whether `totalUsd` counts tokens that no catalog lists, and those whose price is not anchored, at what "
    "they can be sold for"
)
_MEMBERS = (
    "With `tokens`, each of them is shown, zero or not; without, those that the wallet holds and that this "
    "deployment lists, or that the wallet received as far as an index knows (`listed` false). `spam` tells "
    "that an unlisted token breaks rules, which `spamReasons` names: `link` and `promise` in its name, "
    "`look_alike` of a listed symbol, `mass_gift` to many at once, `not_transferable` in a simulation. Spam "
    "has no value; `spam` is null of unlisted tokens that `tokens` names: they are not judged. A token that "
    "cannot be read is in `partial` (`call_failed`, `short_answer`, `no_token`, "
    "`out_of_gas`), and so is a network that cannot, with `token` null; `token_limit` there tells that the "
    "network's list is longer than what one request reads, and `index_unavailable`, `index_incomplete` or "
    "`index_behind` that unlisted tokens may be missing. `totalUsd` adds up what is `counted`: the "
    "values of listed tokens whose price is `anchored`, and with `includeUnlisted` those of others; "
    "`totalComplete` is false while one of these, a listed token, or anything else is missing. "
    "`realisableUsd` is what the pools pay at least for all of it, each token sold alone. What no catalog "
    "lists, what has no anchored price, and what moved by 2 % or more within the hour (`moved1hPct`, warning "
    "`price_moved`) is worth no more."
)


class BalancesQuery(FreshQuery):
    wallet = AccountField("Account whose balances are read", required=True)
    network = NetworkField("Network to read. Left out: all")
    tokens = tokens_field()
    include_native = QueryBoolean(_INCLUDE_NATIVE, load_default=True)
    include_unlisted = QueryBoolean(_INCLUDE_UNLISTED, load_default=False)


class BalancesBody(FreshBody):
    wallets = ListOf(
        "Accounts whose balances are read", AccountField("A wallet"), MAX_WALLETS, least=1, required=True
    )
    network = NetworkField("Network to read. Left out: all")
    tokens = ListOf(
        f"Tokens, at most {MAX_TOKENS} over all networks, by address, `native` or the zero address for the "
        f"native coin, and with `network` {NAMES}. Left out: the tokens listed by this deployment, of which "
        "only those held are shown.",
        TokenField("A token", native=True, zero=True),
        MAX_TOKENS,
        least=1,
    )
    include_native = StrictBoolean(_INCLUDE_NATIVE, load_default=True)
    include_unlisted = StrictBoolean(_INCLUDE_UNLISTED, load_default=False)


@get(
    "/v2/portfolio/balances",
    "A wallet's balances",
    Balances,
    query=BalancesQuery,
    description=f"All balances of a network are of one block, named in `asOf`. {_MEMBERS}",
    failures=(502,),
)
async def get_portfolio_balances(call: Call) -> Wire:
    reading = await _Reading.begin(call, call.query)
    return Balances.render(await reading.of(call.query["wallet"]), call.networks)


@post(
    "/v2/portfolio/balances",
    f"The balances of up to {MAX_WALLETS} wallets",
    BalancesOfWallets,
    body=BalancesBody,
    group="catalog",
    description=(
        "`data` has each wallet as `GET` of the same path shows it, in the order of `wallets`, all at one "
        "block of each network. A wallet that could be read on no network has its networks in `partial`. "
        f"Each wallet counts as one request of the rate limit. {_MEMBERS}"
    ),
    failures=(502,),
)
async def list_balances_of_wallets(call: Call) -> Wire:
    wallets: Sequence[Address] = call.body["wallets"]
    await call.count_further(len(wallets) - 1)
    reading = await _Reading.begin(call, call.body)
    answers = await asyncio.gather(*map(reading.attempt, wallets))
    errors = [answer for answer in answers if isinstance(answer, UpstreamError)]
    if len(errors) == len(answers):
        raise errors[0]
    found = [
        reading.unread(wallet, answer) if isinstance(answer, UpstreamError) else answer
        for wallet, answer in zip(wallets, answers, strict=True)
    ]
    totals = [wallet.total_usd for wallet in found if wallet.total_usd is not None]
    return BalancesOfWallets.of(
        call.networks,
        data=found,
        total_usd=total(totals),
        total_complete=all(wallet.total_complete for wallet in found),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of a wallet."""

    wallet: Address
    data: Sequence[ValuedHolding]
    total_usd: float | None
    total_complete: bool
    as_of: Sequence[tuple[int, int]]
    missing: Sequence[Missing]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A request for balances: its networks, the tokens that are read on each, and what is known of them."""

    call: Call
    asked: Mapping[str, Any]
    networks: Sequence[Network]
    facts: Mapping[int, Mapping[Address, Token]]
    heads: dict[int, asyncio.Task[Block]]
    """The block of each network that all wallets are read at."""

    @classmethod
    async def begin(cls, call: Call, asked: Mapping[str, Any]) -> _Reading:
        networks = networks_asked(call, asked)
        named: Sequence[Address] | None = asked.get("tokens")
        chain_ids = [network.chain_id for network in networks]
        known = (call.gateway.tokens.listed(chain_id, named or ()) for chain_id in chain_ids)
        facts = dict(zip(chain_ids, await asyncio.gather(*known), strict=True))
        return cls(call, asked, networks, facts, {})

    @property
    def explicit(self) -> bool:
        return "tokens" in self.asked

    async def of(self, wallet: Address) -> _Found:
        """Returns a wallet's balances. Raises ``UpstreamError`` when no network could be read."""
        plan = await self._plan(wallet)

        def read(chain_id: int) -> Coroutine[Any, Any, Holdings]:
            return self._on(chain_id, wallet, plan[chain_id].tokens)

        held, missing = await read_each(self.call, self.asked, self.networks, read)
        for holdings in held.values():
            for token in holdings.found:
                self.call.gateway.tokens.remember(token)
        missing += _unreadable(held, explicit=self.explicit)
        for chain_id in held:
            missing += plan[chain_id].missing(chain_id)
        return await self._valued(wallet, held, plan, missing)

    async def attempt(self, wallet: Address) -> _Found | UpstreamError:
        """Returns a wallet's balances, or why no network could be read."""
        try:
            return await self.of(wallet)
        except UpstreamError as error:
            return error

    def unread(self, wallet: Address, error: UpstreamError) -> _Found:
        """Returns what is told of a wallet that could be read on no network."""
        reason = "" if error.reason is None else error.reason.value
        missing = [Missing(network.chain_id, None, reason) for network in self.networks]
        return _Found(wallet, (), None, False, (), missing)

    async def _plan(self, wallet: Address) -> Mapping[int, TokensToRead]:
        chain_ids = [network.chain_id for network in self.networks]
        if self.explicit:
            tokens: Sequence[Address] = self.asked["tokens"]
            return named_tokens(tokens, fair_shares(dict.fromkeys(chain_ids, len(tokens))))
        gateway = self.call.gateway
        return await tokens_to_read(gateway.history, gateway.runtime.chains, wallet, self.facts)

    async def _on(self, chain_id: int, wallet: Address, tokens: Sequence[Address]) -> Holdings:
        chain = self.call.gateway.runtime.chains[chain_id]
        if chain_id not in self.heads:
            self.heads[chain_id] = task = asyncio.create_task(chain.head())
            # All who wait for it may have left when it fails: then nobody takes its exception.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        block = await asyncio.shield(self.heads[chain_id])
        known = self.facts[chain_id]
        if not self.explicit:
            read = self.call.gateway.tokens.read_before(chain_id, tokens)
            known = {**read, **{token: known[token] for token in tokens if token in known}}
        try:
            return await read_holdings(chain, wallet, tokens, known, block)
        except UpstreamError:
            newest = await chain.replacing(block)
            if newest is None:
                raise
            return await read_holdings(chain, wallet, tokens, known, newest)

    async def _valued(
        self,
        wallet: Address,
        held: Mapping[int, Holdings],
        plan: Mapping[int, TokensToRead],
        missing: Sequence[Missing],
    ) -> _Found:
        gateway = self.call.gateway
        named = NATIVE in self.asked.get("tokens", ())
        shown: list[Holding] = []
        for chain_id, holdings in held.items():
            if self.asked["include_native"] or named:
                shown.append(Holding(gateway.tokens.coin(chain_id), holdings.native))
            shown += [row for row in holdings.tokens if self.explicit or row.amount]
        shown, spam = await self._judged(wallet, shown, plan)
        amounts = {
            key: row.amount
            for row in shown
            if row.amount and (key := (row.token.chain_id, row.token.address)) not in spam
        }
        valuation, payouts = await asyncio.gather(
            gateway.valuation(set(amounts), wait_s=VALUES_WAIT_S), gateway.payouts.get(amounts)
        )
        unlisted: bool = self.asked["include_unlisted"]
        rows = [
            ValuedHolding(row.token, row.amount, None, spam=spam[key])
            if (key := (row.token.chain_id, row.token.address)) in spam
            else _valued(row, valuation, payouts, unlisted=unlisted, is_judged=not self.explicit)
            for row in shown
        ]
        values = [row.value_usd for row in rows if row.counted and row.value_usd is not None]
        uncounted = (row for row in rows if row.amount and not (row.counted or row.spam))
        complete = not any(map(self._spoils_total, missing))
        complete = complete and not any(row.token.listed or unlisted for row in uncounted)
        as_of = [(chain_id, holdings.block.number) for chain_id, holdings in held.items()]
        return _Found(wallet, rows, total(values), complete, as_of, missing)

    def _spoils_total(self, missing: Missing) -> bool:
        """Returns whether what is missing may be a part of the total.

        A token that nobody asked for is none unless a catalog lists it: anybody can send tokens that cannot
        be read.
        """
        if self.explicit or self.asked["include_unlisted"]:
            return True
        if missing.token is None:
            return missing.reason not in OF_UNLISTED_TOKENS
        return missing.token in self.facts[missing.chain_id]

    async def _judged(
        self, wallet: Address, shown: Sequence[Holding], plan: Mapping[int, TokensToRead]
    ) -> tuple[list[Holding], Mapping[tuple[int, Address], tuple[str, ...]]]:
        """Returns the holdings with names of unlisted tokens, spam last, and the rules that spam breaks."""
        if self.explicit:
            return list(shown), {}
        gateway, named = self.call.gateway, list(shown)
        spam: dict[tuple[int, Address], tuple[str, ...]] = {}
        for chain_id, tokens in plan.items():
            mine = {
                row.token.address: row
                for row in shown
                if row.token.chain_id == chain_id and not (row.token.listed or row.token.is_native)
            }
            if not mine:
                continue
            unnamed = [each for each in mine if gateway.tokens.facts(chain_id, each) is None]
            if unnamed:
                await gateway.tokens.find_each(chain_id, unnamed[:MOST_NAMED])
            read = gateway.tokens.read_before(chain_id, mine)
            named = [
                Holding(read.get(row.token.address, row.token), row.amount)
                if mine.get(row.token.address) is row
                else row
                for row in named
            ]
            held = {each: (read.get(each, row.token), row.amount) for each, row in mine.items()}
            found = await gateway.unlisted.spam(chain_id, wallet, held, tokens.received)
            spam |= {(chain_id, address): rules for address, rules in found.items()}
        named.sort(key=lambda row: (row.token.chain_id, row.token.address) in spam)
        return named, spam


def _valued(
    held: Holding,
    valuation: Valuation,
    payouts: Mapping[tuple[int, Address], float],
    *,
    unlisted: bool,
    is_judged: bool,
) -> ValuedHolding:
    token, key = valuation.token(held.token), (held.token.chain_id, held.token.address)
    payout_usd = payouts.get(key)
    value_usd = valuation.usd(token, held.amount, payout_usd)
    spam = () if is_judged or token.listed or token.is_native else None
    price = valuation.prices.get(key)
    counted = value_usd is not None and _counts(token, price, payout_usd, unlisted=unlisted)
    return ValuedHolding(token, held.amount, value_usd, payout_usd, price, counted, spam)


def _counts(token: Token, price: Price | None, payout_usd: float | None, *, unlisted: bool) -> bool:
    """Returns whether a value is a part of the total: one that anybody may have made up needs a limit."""
    if price is None or price.confirms(token):
        return price is not None
    is_limited = payout_usd is not None or price.depth_usd is not None
    return is_limited and (unlisted or (token.listed and price.anchored))


def _unreadable(held: Mapping[int, Holdings], *, explicit: bool) -> Iterator[Missing]:
    """Tokens that could not be read. Without a network given, an address is a token somewhere and nothing
    elsewhere: it is named only when it is a token nowhere."""
    tokens = {row.token.address for holdings in held.values() for row in holdings.tokens}
    for chain_id, holdings in held.items():
        for address, reason in holdings.unreadable:
            if not (explicit and reason == NO_TOKEN and address in tokens):
                yield Missing(chain_id, address, reason)


OPERATIONS = (get_portfolio_balances, list_balances_of_wallets)
