"""Attack: a token catalog hangs or raises, so that an honest provider looks slow or broken.

No catalog is asked within the time of a provider: ``attempts``, the log and the counters name the provider
for what it did itself only.
"""

import asyncio

import pytest
from quoteway.config.model import CallsConfig, Config, QuotesConfig
from quoteway.engine.gateway import Gateway
from quoteway.evm.calls.registry import digest_of
from quoteway.models import NATIVE, Capability, SwapRequest, Token, Vault, VaultRequest
from quoteway.networks import Network
from quoteway.providers import TokenCatalog
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedVaults, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
COIN = Token(4242, NATIVE, 18, "ETH")
TOKEN = Token(4242, "0x" + "1" * 40, 6, "USD", "A dollar")
SHARE = Token(4242, "0x" + "2" * 40, 6, "vUSD", "A share")
VAULT = Vault(
    f"4242:{SHARE.address}",
    *("testnet", 4242, SHARE.address, "Vault", "erc4626", "hold"),
    *(TOKEN, SHARE, ("deposit",), "listed-vaults", 1),
)
SWAP = SwapRequest(4242, 4242, COIN, TOKEN, 10**18, USER, USER, 50)
DEPOSIT = VaultRequest(VAULT.id, 4242, "deposit", TOKEN.address, 10**6, USER, USER, 0)


class Catalog(TokenCatalog):
    """Changes all the time, so that it is read for each request."""

    id, title, networks = "a-catalog", "A catalog", frozenset({4242})

    def __init__(self):
        self.asked = 0

    def revision(self):
        self.asked += 1
        return self.asked

    async def profile(self, token_id):
        return await self.tokens(None)

    async def token(self, chain_id, address):
        return await self.tokens(None)


class Hanging(Catalog):
    async def tokens(self, chain_id):
        await asyncio.Event().wait()


class Raising(Catalog):
    async def tokens(self, chain_id):
        raise RuntimeError("the catalog is broken")


class Unreadable(Catalog):
    def revision(self):
        super().revision()
        raise RuntimeError("the catalog is broken")

    async def tokens(self, chain_id):
        return ["no profile"]


@pytest.mark.looptime
@pytest.mark.parametrize("kind", [Hanging, Raising, Unreadable])
@pytest.mark.parametrize(
    ("capability", "asked", "provider"),
    [(Capability.SWAP, SWAP, "fixed-rate"), (Capability.VAULT, DEPOSIT, "listed-vaults")],
)
async def test_a_failing_catalog_is_not_the_failure_of_a_provider(caplog, kind, capability, asked, provider):
    catalog, events = kind(), []
    plugins = {
        "catalog": FakePlugin([catalog]),
        "honest": FakePlugin(
            [
                MemoryRpc({4242}, tokens=[TOKEN, SHARE]),
                FixedRateSwap,
                lambda context: ListedVaults(context, [VAULT]),
            ],
            networks=[Network("testnet", 4242, "Testnet")],
            calls=[FAKE_CALLS],
        ),
    }
    # Shorter than the wait for a catalog, so that a provider that waits for one is late.
    config = Config(
        quotes=QuotesConfig(competition_timeout_s=0.2), calls=CallsConfig((digest_of([FAKE_CALLS]),))
    )
    gateway = Gateway(config, plugins=plugins, discover=False)
    gateway.registry.plugins.listeners.append(events.append)
    async with gateway.running():
        answer = await gateway.quoting.quote(capability, asked)
    assert catalog.asked, "it was in the way"
    assert [(a.provider, a.outcome, a.reason) for a in answer.attempts] == [(provider, "quoted", None)]
    own = [event for event in events if event["provider"] == provider and event["method"] == "quote"]
    assert [event["outcome"] for event in own] == ["quoted"]
    told = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert not [text for text in told if provider in text]
