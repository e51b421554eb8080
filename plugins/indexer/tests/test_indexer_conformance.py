"""The conformance suite of the framework, on an index of one pool whose rows are written here."""

import pytest
from history_rows import (
    COIN,
    COIN_TEXT,
    DAY,
    HOUR,
    START,
    USDX,
    USDX_TEXT,
    WRAPPED_TEXT,
    Indexing,
    StoreReader,
    computed,
    created,
    pool_hour,
    token_hour,
    write,
)
from index_rows import CHAIN, POOL
from quoteway import Network, Token
from quoteway.evm.address import checksum
from quoteway.testing.conformance import MetricsConformance
from quoteway.testing.fakes import FakePlugin, MemoryRpc

UNTIL = START + 3 * DAY
POOL_ID = f"{CHAIN}:{checksum('0x' + POOL.hex())}"


class TestIndex(MetricsConformance):
    provider_id = "indexer"

    @pytest.fixture
    async def gateway(self, duckdb_store, make_gateway):
        hours = range(START, UNTIL, HOUR)
        write(
            duckdb_store,
            facts={"pool_created": created(COIN, USDX)},
            pool_hour=[pool_hour(at, volume0=at % 977, lp_fee1=at % 13, principal0=10**24) for at in hours],
            token_hour=[
                *(token_hour(COIN, at, 1 + at % 7, 2 + at % 7) for at in hours),
                *(token_hour(USDX, at, 1.0) for at in hours),
            ],
            computed=[computed("pools:dex", UNTIL), computed("prices", UNTIL, "one")],
        )
        tokens = Token(CHAIN, COIN_TEXT, 18, "COIN", "Coin"), Token(CHAIN, USDX_TEXT, 6, "USDX", "Dollar")
        network = Network("devnet", CHAIN, "Devnet", wrapped_native=WRAPPED_TEXT)
        chain = FakePlugin([MemoryRpc({CHAIN}, tokens=tokens)], networks=[network])
        return await make_gateway({"chain": chain, "index": Indexing(StoreReader(duckdb_store))})

    @pytest.fixture
    def known(self):
        return [(POOL_ID, metric) for metric in ("tvl", "volume", "fees", "apr")]

    @pytest.fixture
    def traded(self):
        return [(CHAIN, COIN_TEXT), (CHAIN, USDX_TEXT)]

    @pytest.fixture
    def span(self):
        return START, UNTIL
