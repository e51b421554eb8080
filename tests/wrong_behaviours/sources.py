"""Catalogs and price sources that are wrong in one way each."""

import math
import time
from dataclasses import replace

from quoteway.models import Price, Token
from quoteway.testing.conformance.provider import STRANGER
from quoteway.testing.fakes import ListedPrices, ListedTokens


class SaysOtherDecimals(ListedTokens):
    """Finds a token with one decimal more than its contract has."""

    async def token(self, chain_id, address):
        found = await super().token(chain_id, address)
        return found and replace(found, decimals=found.decimals + 1)


class HasOneIdTwice(ListedTokens):
    """Gives two tokens one id."""

    async def tokens(self, chain_id):
        rows = await super().tokens(chain_id)
        return [replace(row, id=rows[0].id) for row in rows]


class ListsATokenTwice(ListedTokens):
    """Lists the same contract under two ids."""

    async def tokens(self, chain_id):
        rows = list(await super().tokens(chain_id))
        return [*rows, replace(rows[0], id="the-same-again")]


class FindsWhatIsNoToken(ListedTokens):
    """Finds a token at an address without a contract."""

    async def token(self, chain_id, address):
        found = await super().token(chain_id, address)
        return found or Token(chain_id, address, 18, "USDC", "A dollar")


class LosesItsTokens(ListedTokens):
    """Does not find by its id what it lists."""

    async def profile(self, token_id):
        return None


class ListsMoreForOneNetwork(ListedTokens):
    """Lists fewer tokens of a network when it is asked for that one."""

    async def tokens(self, chain_id):
        rows = await super().tokens(chain_id)
        return rows if chain_id is None else rows[:1]


class HasAnotherRevisionEachTime(ListedTokens):
    """Names another revision at each call, so that no client can keep the list."""

    asked = 0

    def revision(self):
        self.asked += 1
        return str(self.asked)


class HidesControlCharacters(ListedTokens):
    """Has a name with characters that turn the text around."""

    async def tokens(self, chain_id):
        return [replace(row, name="USD\u202e Coin") for row in await super().tokens(chain_id)]


class RanksBelowZero(ListedTokens):
    """Gives tokens a rank below zero."""

    async def tokens(self, chain_id):
        return [replace(row, rank=-1) for row in await super().tokens(chain_id)]


class SortsOnTheLoop(ListedTokens):
    """Works 120 ms for each list on the event loop."""

    async def tokens(self, chain_id):
        time.sleep(0.12)  # noqa: ASYNC251 - the fault
        return await super().tokens(chain_id)


class KeepsItsFirstList(ListedTokens):
    """Lists other tokens and keeps the revision of the first list."""

    calls = 0

    async def tokens(self, chain_id):
        self.calls += 1
        return (await super().tokens(chain_id))[: 1 + self.calls % 2]


class HasFactsThatCannotBe(ListedTokens):
    """Says NaN for a market capitalisation."""

    async def tokens(self, chain_id):
        return [replace(row, market_cap_usd=math.nan) for row in await super().tokens(chain_id)]


class HasALinkThatRuns(ListedTokens):
    """Has a link that runs a script."""

    async def tokens(self, chain_id):
        return [replace(row, website="javascript:alert(1)") for row in await super().tokens(chain_id)]


class TurnsPricesAround(ListedPrices):
    """Says how many tokens a dollar buys."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        return {address: replace(price, usd=1 / price.usd) for address, price in found.items()}


class PricesBaseUnits(ListedPrices):
    """Says what a base unit costs, times the decimals of another token."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        return {address: replace(price, usd=price.usd * 10**12) for address, price in found.items()}


class PricesNothing(ListedPrices):
    """Says zero where it knows no price."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        unknown = {each: Price(0.0, self.id, block, 1.0) for each in addresses if each not in found}
        return {**{address: replace(price, usd=0.0) for address, price in found.items()}, **unknown}


class PricesWhatIsNoToken(ListedPrices):
    """Gives every address a price."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        return {each: Price(1.0, self.id, block, 1.0) for each in addresses if each not in found} | found


class PricesByCompany(ListedPrices):
    """Says another price when several tokens are asked for at once."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        factor = 1 + len(addresses) / 1_000
        return {address: replace(price, usd=price.usd * factor) for address, price in found.items()}


class PricesAtAnotherBlock(ListedPrices):
    """Says that a price holds at a block for which it was not asked."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        old = replace(block, number=block.number - 1)
        return {address: replace(price, block=old) for address, price in found.items()}


class IsSurerThanSure(ListedPrices):
    """Has a confidence above one."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        return {address: replace(price, confidence=100.0) for address, price in found.items()}


class WandersAtOneBlock(ListedPrices):
    """Says another price at each call, at one block."""

    asked_times = 0

    async def prices(self, chain_id, addresses, block):
        self.asked_times += 1
        found = await super().prices(chain_id, addresses, block)
        factor = 1 + self.asked_times / 1e6
        return {address: replace(price, usd=price.usd * factor) for address, price in found.items()}


class ReckonsOnTheLoop(ListedPrices):
    """Works 120 ms for each price on the event loop."""

    async def prices(self, chain_id, addresses, block):
        time.sleep(0.12)  # noqa: ASYNC251 - the fault
        return await super().prices(chain_id, addresses, block)


class AddsPricesNobodyAskedFor(ListedPrices):
    """Gives prices of tokens for which it was not asked."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        return {**found, STRANGER: Price(1.0, self.id, block, 1.0)}


class HasAPriceThatIsNoNumber(ListedPrices):
    """Says NaN."""

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        return {address: replace(price, usd=math.nan) for address, price in found.items()}
