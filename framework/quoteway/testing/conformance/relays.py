"""The suite for relays of signed transactions."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from quoteway import Capability, InvalidRequest, Relay, UpstreamError
from quoteway.evm.address import keccak256
from quoteway.testing.conformance import provider as suite

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

_TRANSFER_GAS = 21_000


class RelayConformance(suite.ProviderConformance):
    """Fixture: ``gateway``. The devnet's nodes sign the transactions."""

    capability: ClassVar[Capability] = Capability.RELAY

    async def test_a_transaction_is_broadcast_and_its_hash_returned(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            raw = await signed_transaction(fresh_devnet, slug)
            sent = await provider.submit(chain_id, raw)
            assert sent == hash_of(raw), f"submit() returns {sent!r:.70}, the hash is {hash_of(raw)}"
            assert await _is_known(fresh_devnet, slug, sent), f"{slug} has no transaction {sent}"

    async def test_a_transaction_sent_twice_has_one_hash(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            raw = await signed_transaction(fresh_devnet, slug)
            await provider.submit(chain_id, raw)
            try:
                again = await provider.submit(chain_id, raw)
            except UpstreamError:
                continue  # allowed: the node already has it
            assert again == hash_of(raw), f"sent again, submit() returns {again!r:.70}"

    async def test_what_a_node_refuses_is_an_error(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            whole = await signed_transaction(fresh_devnet, slug)
            for name, raw in (
                ("too little gas", await refused_transaction(fresh_devnet, slug)),
                ("a byte too few", whole[:-1]),
                ("no transaction", b"\x00" * 100),
            ):
                await _refused(provider, chain_id, raw, name)
                assert not await _is_known(fresh_devnet, slug, hash_of(raw))

    async def test_a_transaction_of_another_chain_is_refused(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        served = list(_served(fresh_devnet, gateway, provider))
        for slug, chain_id in served:
            for other, chain in fresh_devnet.chains.items():
                if chain.chain_id == chain_id:
                    continue
                raw = await signed_transaction(fresh_devnet, other)
                await _refused(provider, chain_id, raw, f"a transaction of {other} on {slug}")
                assert not await _is_known(fresh_devnet, other, hash_of(raw)), (
                    f"asked for {slug}, it broadcasts on {other}"
                )

    async def test_no_hash_is_returned_of_what_was_not_broadcast(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        async def fail(method: str, params: Sequence[Any], timeout_s: float) -> Any:
            raise UpstreamError("No node answers.")

        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            raw = await signed_transaction(fresh_devnet, slug)
            with suite.forwarding(gateway, fail):
                try:
                    sent = await provider.submit(chain_id, raw)
                except UpstreamError:
                    continue
            assert await _is_known(fresh_devnet, slug, sent), "it returns a hash while no node answers"

    async def test_no_log_line_has_the_transaction(
        self,
        fresh_devnet: LocalChains,
        gateway: Gateway,
        provider: Relay,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """A signed transaction in a log can be broadcast by whoever reads it."""
        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            raw = await signed_transaction(fresh_devnet, slug)
            hidden = (*self.secrets, raw.hex(), raw[-32:].hex())
            await suite.assert_silent(gateway, hidden, caplog, lambda: provider.submit(chain_id, raw))  # noqa: B023
            await provider.submit(chain_id, raw)
            assert raw[-32:].hex() not in caplog.text, "the signed transaction shows in a log line"

    async def test_the_event_loop_is_never_kept(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            raw = await refused_transaction(fresh_devnet, slug)
            kept_s = await suite.longest_block(lambda: _refused(provider, chain_id, raw, "too little gas"))  # noqa: B023
            assert kept_s < suite.MAX_BLOCK_S, f"{kept_s * 1000:.0f} ms on the event loop"

    async def test_cancellation_is_honoured(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Relay
    ) -> None:
        for slug, chain_id in _served(fresh_devnet, gateway, provider):
            raw = await refused_transaction(fresh_devnet, slug)
            await suite.assert_cancellable(gateway, lambda: provider.submit(chain_id, raw))  # noqa: B023


async def signed_transaction(devnet: LocalChains, slug: str, *, gas: int = _TRANSFER_GAS) -> bytes:
    """Returns a signed transfer from the devnet's first account, with its next nonce.

    It is of a random number of wei: a node that was put back may still know an earlier transaction.
    """
    value = hex(1 + secrets.randbelow(10**15))

    def sign() -> str:
        with devnet.rpc(slug) as rpc:
            transaction = {
                "from": suite.HOLDER,
                "to": suite.STRANGER,
                "value": value,
                "nonce": rpc("eth_getTransactionCount", suite.HOLDER, "pending"),
                "gas": hex(gas),
                "maxFeePerGas": hex(10**11),
                "maxPriorityFeePerGas": "0x1",
                "chainId": hex(devnet.chains[slug].chain_id),
            }
            signed: str = rpc("eth_signTransaction", transaction)
            return signed

    return bytes.fromhex((await asyncio.to_thread(sign)).removeprefix("0x"))


async def refused_transaction(devnet: LocalChains, slug: str) -> bytes:
    """Returns a signed transaction that every node refuses: its gas is below that of a transfer."""
    return await signed_transaction(devnet, slug, gas=_TRANSFER_GAS - 1)


def hash_of(raw: bytes) -> str:
    """Returns the hash of a signed transaction."""
    return "0x" + keccak256(raw).hex()


def _served(devnet: LocalChains, gateway: Gateway, provider: Relay) -> Iterator[tuple[str, int]]:
    """Yields slug and id of each devnet chain that the relay serves."""
    for slug, chain in devnet.chains.items():
        if chain.chain_id in provider.networks & set(gateway.runtime.chains):
            yield slug, chain.chain_id


async def _refused(provider: Relay, chain_id: int, raw: bytes, name: str) -> None:
    try:
        sent = await provider.submit(chain_id, raw)
    except (InvalidRequest, UpstreamError):
        return
    pytest.fail(f"submit() returns {sent!r:.70} for {name}: it must raise UpstreamError")


async def _is_known(devnet: LocalChains, slug: str, transaction_hash: str) -> bool:
    def known() -> bool:
        with devnet.rpc(slug) as rpc:
            return rpc("eth_getTransactionByHash", transaction_hash) is not None

    return await asyncio.to_thread(known)
