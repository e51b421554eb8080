"""The suite for vault providers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from quoteway import Capability, DeployRequest, NotFound, Vault, VaultProvider
from quoteway.testing.conformance.listing import check_position, check_series, check_vault, made_up_id
from quoteway.testing.conformance.movement import MovementConformance
from quoteway.testing.conformance.provider import MAX_BLOCK_S, STRANGER, longest_block

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway


class VaultConformance(MovementConformance):
    """Fixtures: ``gateway``, ``cases`` (``VaultRequest``), ``unknown`` (no such vault)."""

    capability: ClassVar[Capability] = Capability.VAULT
    metrics: ClassVar[Sequence[str]] = ("tvl", "apy")

    async def test_the_catalog_is_sound(self, gateway: Gateway, provider: VaultProvider) -> None:
        vaults = await provider.vaults(None)
        assert vaults, "an empty catalog has nothing to check"
        ids = [vault.id for vault in vaults]
        assert len(set(ids)) == len(ids), "two vaults have one id"
        for vault in vaults:
            check_vault(gateway, provider, vault)
        for chain_id in provider.networks:
            here = {vault.id for vault in await provider.vaults(chain_id)}
            assert here == {vault.id for vault in vaults if vault.chain_id == chain_id}

    async def test_a_listed_vault_is_found_and_a_made_up_one_is_not(self, provider: VaultProvider) -> None:
        for listed in (await provider.vaults(None))[:20]:
            found = await provider.vault(listed.id)
            assert isinstance(found, Vault)
            assert (found.id, found.asset, found.share) == (listed.id, listed.asset, listed.share)
        for chain_id in provider.networks:
            with contextlib.suppress(NotFound):  # allowed: the message may give the reason
                assert await provider.vault(made_up_id(chain_id)) is None

    async def test_strategies_of_new_vaults_are_named(
        self, provider: VaultProvider, cases: Sequence[Any]
    ) -> None:
        assert set(provider.deploy_strategies) <= provider.networks
        for request in cases:
            if isinstance(request, DeployRequest):
                assert provider.deploy_strategies.get(request.chain_id), "callers cannot know what to ask for"

    async def test_the_catalog_does_not_keep_the_event_loop(self, provider: VaultProvider) -> None:
        await provider.vaults(None)
        assert await longest_block(lambda: provider.vaults(None)) < MAX_BLOCK_S

    async def test_series_are_known_numbers_or_nothing(
        self, gateway: Gateway, provider: VaultProvider
    ) -> None:
        end = int(time.time())
        for listed in (await provider.vaults(None))[:3]:
            for metric in self.metrics:
                series = await provider.series(listed.id, metric, end - 86_400, end, "1h")
                if series is not None:
                    check_series(series, listed.id, metric)

    async def test_a_stranger_has_no_positions(self, provider: VaultProvider) -> None:
        assert list(await provider.positions(STRANGER)) == []

    async def test_positions_are_sound(
        self, gateway: Gateway, provider: VaultProvider, cases: Sequence[Any]
    ) -> None:
        for request in cases:
            if not isinstance(request, DeployRequest):
                for position in await provider.positions(request.sender):
                    check_position(position, request.sender)
