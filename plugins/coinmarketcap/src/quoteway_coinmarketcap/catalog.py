"""Reads CoinMarketCap's ranking and the details of its coins in the background; keeps them as profiles."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import msgspec
from quoteway import Address, Context, Token, TokenCatalog, TokenProfile

from quoteway_coinmarketcap.api import ApiFailed, CoinMarketCapApi
from quoteway_coinmarketcap.facts import Details, Listing, profile_of, rows_of

_LISTINGS, _INFO = "v1/cryptocurrency/listings/latest", "v2/cryptocurrency/info"
_PAGE = 5_000
_BATCH = 100
"""Coins of one request for details: as many cost one credit."""
_AFTER_ERROR_S = 60.0


class CoinMarketCap(TokenCatalog):
    """What CoinMarketCap says of tokens that others list, by network and contract."""

    id = "coinmarketcap"
    title = "CoinMarketCap"
    docs = "https://coinmarketcap.com/api/documentation/v1/"
    lists = False

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log = context.log
        self._settings = dict(context.settings)
        self._platforms = {
            name.strip().lower(): chain_id for name, chain_id in self._settings["platforms"].items()
        }
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._api = CoinMarketCapApi(context)
        self._listings: list[Listing] = []
        self._details: dict[int, tuple[int, Details | None]] = {}
        """By ucid, when the details were read; None: CoinMarketCap gave none."""
        self._profiles: tuple[TokenProfile, ...] = ()
        self._revision = 0
        self._answers: bool | None = None
        self._told: str | None = None

    # --- TokenCatalog ---------------------------------------------------------------------------------------

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        """Returns what is known of coins with a contract on a served network, by their rank."""
        if chain_id is None:
            return self._profiles
        return [each for each in self._profiles if any(t.chain_id == chain_id for t in each.contracts)]

    async def profile(self, token_id: str) -> TokenProfile | None:
        """Returns None: this catalog lists no tokens."""
        return None

    async def token(self, chain_id: int, address: Address) -> Token | None:
        """Returns None: this catalog lists no tokens."""
        return None

    def revision(self) -> str:
        return str(self._revision)

    async def healthy(self) -> bool | None:
        return self._answers

    # --- reading --------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Reads the API during the block."""
        task = asyncio.create_task(self._follow(), name="coinmarketcap")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            try:
                await self._read_ranking()
                await self._read_details()
                self._answers, self._told = True, None
                wait_s = float(self._settings["refresh_s"])
            except ApiFailed as error:
                self._answers, wait_s = False, error.wait_s
                if str(error) != self._told:
                    self._told = str(error)
                    self._log.warning("CoinMarketCap failed: %s; what was read stays", error)
            except Exception:
                self._answers, wait_s = False, _AFTER_ERROR_S
                self._log.exception("reading CoinMarketCap failed")
            await asyncio.sleep(wait_s)

    async def _read_ranking(self) -> None:
        """Reads the coins with the best ranks. Raises ``ApiFailed``."""
        most, found, bad = self._settings["tokens"], dict[int, Listing](), 0
        for start in range(1, most + 1, _PAGE):
            count = min(_PAGE, most - start + 1)
            params = {"start": str(start), "limit": str(count), "convert": "USD"}
            raw = await self._api.get(_LISTINGS, params, list[msgspec.Raw])
            rows, missed = await asyncio.to_thread(rows_of, raw[:count], Listing)
            bad += missed
            for row in rows:
                found.setdefault(row.id, row)
            if len(raw) < count:
                break
        if bad:
            self._log.warning("CoinMarketCap: %d rows do not follow its documentation and are left out", bad)
        self._listings = sorted(found.values(), key=lambda row: (row.cmc_rank is None, row.cmc_rank or 0))
        await self._build()

    async def _read_details(self) -> None:
        """Reads contracts and links of the coins whose last read is old. Raises ``ApiFailed``."""
        before = self._context.now() - self._settings["details_refresh_s"]
        due = [row.id for row in self._listings if self._details.get(row.id, (0, None))[0] <= before]
        for at in range(0, len(due), _BATCH):
            ids = due[at : at + _BATCH]
            params = {"id": ",".join(map(str, ids)), "skip_invalid": "true"}
            raw = await self._api.get(_INFO, params, dict[str, msgspec.Raw])
            rows, _ = await asyncio.to_thread(rows_of, list(raw.values())[:_BATCH], Details)
            now, known = self._context.now(), {row.id: row for row in rows}
            self._details |= {each: (now, known.get(each)) for each in ids}
            if at == 0 or at + _BATCH >= len(due):
                await self._build()

    async def _build(self) -> None:
        self._profiles = await asyncio.to_thread(self._made)
        self._revision += 1

    def _made(self) -> tuple[TokenProfile, ...]:
        """Returns the profiles. A contract that two coins name is that of the better rank."""
        now, taken, found = self._context.now(), set[tuple[int, Address]](), []
        for row in self._listings:
            details = self._details.get(row.id, (0, None))[1]
            made = profile_of(row, details, self.networks, self._platforms, now)
            if made is None:
                continue
            own = tuple(each for each in made.contracts if (each.chain_id, each.address) not in taken)
            if own:
                taken.update((each.chain_id, each.address) for each in own)
                found.append(made if own == made.contracts else replace(made, contracts=own))
        return tuple(found)
