"""The suite for token catalogs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import pytest

from quoteway import Address, Capability, TokenCatalog
from quoteway.evm.erc20 import token_facts
from quoteway.testing.conformance import provider as suite
from quoteway.testing.conformance.listing import check_token

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

_SAMPLE = 25
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class CatalogConformance(suite.ProviderConformance):
    """Fixtures: ``gateway``, and ``unlisted``: (chain id, address) of an ERC-20 token that it does not list,
    or None to skip that test."""

    capability: ClassVar[Capability] = Capability.TOKENS

    @pytest.fixture
    def unlisted(self) -> tuple[int, Address] | None:
        return None

    async def test_the_catalog_is_sound(self, provider: TokenCatalog) -> None:
        profiles = await provider.tokens(None)
        assert profiles, "an empty catalog has nothing to check"
        ids = [profile.id for profile in profiles]
        assert len(set(ids)) == len(ids), "two tokens have one id"
        seen: set[tuple[int, Address]] = set()
        for profile in profiles:
            assert _SLUG.fullmatch(profile.id) or ":" in profile.id, f"id {profile.id!r}"
            assert profile.symbol.isprintable()
            assert profile.name.isprintable()
            assert profile.contracts, f"{profile.id} is nowhere"
            for token in profile.contracts:
                check_token(token)
                key = token.chain_id, token.address
                assert key not in seen, f"{key} is in two profiles"
                seen.add(key)

    async def test_it_lists_one_network_as_it_lists_all(self, provider: TokenCatalog) -> None:
        everything = {(t.chain_id, t.address) for p in await provider.tokens(None) for t in p.contracts}
        for chain_id in provider.networks:
            here = {(t.chain_id, t.address) for p in await provider.tokens(chain_id) for t in p.contracts}
            assert {key for key in here if key[0] == chain_id} == {
                key for key in everything if key[0] == chain_id
            }

    async def test_listed_tokens_are_found_and_have_the_chains_decimals(
        self, gateway: Gateway, provider: TokenCatalog
    ) -> None:
        for chain_id in sorted(provider.networks & set(gateway.runtime.chains)):
            for profile in (await provider.tokens(chain_id))[:_SAMPLE]:
                for listed in profile.contracts:
                    if listed.chain_id != chain_id:
                        continue
                    found = await provider.token(chain_id, listed.address)
                    real = await token_facts(gateway.runtime.chains[chain_id], listed.address)
                    assert (found is None) == (real is None), f"{listed.address} on chain {chain_id}"
                    if found is not None and real is not None:
                        assert (found.address, found.decimals) == (listed.address, real.decimals)

    async def test_profiles_are_found_by_id(self, provider: TokenCatalog) -> None:
        for listed in (await provider.tokens(None))[:_SAMPLE]:
            found = await provider.profile(listed.id)
            assert found is not None
            assert (found.id, found.symbol) == (listed.id, listed.symbol)
        assert await provider.profile("no-such-token-anywhere") is None

    async def test_what_is_no_token_is_none(self, gateway: Gateway, provider: TokenCatalog) -> None:
        for chain_id in provider.networks & set(gateway.runtime.chains):
            assert await provider.token(chain_id, suite.STRANGER) is None

    async def test_an_unlisted_token_is_read_from_the_chain_or_none(
        self,
        gateway: Gateway,
        provider: TokenCatalog,
        unlisted: tuple[int, Address] | None,
        record_property: Callable[[str, object], None],
    ) -> None:
        if unlisted is None:
            record_property("not_applicable", "no unlisted token is given")
            return
        found = await provider.token(*unlisted)
        real = await token_facts(gateway.runtime.chains[unlisted[0]], unlisted[1])
        assert real is not None
        assert found is None or found.decimals == real.decimals

    async def test_lists_come_from_memory(self, provider: TokenCatalog) -> None:
        assert await suite.longest_block(lambda: provider.tokens(None)) < suite.MAX_BLOCK_S
        assert isinstance(provider.revision(), str)
        assert provider.revision() == provider.revision()

    async def test_cancellation_is_honoured(self, gateway: Gateway, provider: TokenCatalog) -> None:
        chain_id = min(provider.networks & set(gateway.runtime.chains))
        await suite.assert_cancellable(gateway, lambda: provider.token(chain_id, suite.STRANGER))

    async def test_nothing_secret_shows_when_nodes_fail(
        self, gateway: Gateway, provider: TokenCatalog, caplog: pytest.LogCaptureFixture
    ) -> None:
        chain_id = min(provider.networks & set(gateway.runtime.chains))
        await suite.assert_silent(
            gateway, self.secrets, caplog, lambda: provider.token(chain_id, suite.STRANGER)
        )
