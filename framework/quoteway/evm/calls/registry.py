"""The contracts whose calls the core can read: what kind each address of a chain is.

The addresses of the core's kinds come from ``known_contracts`` and from a network's own ``contracts``. A
plugin brings further kinds as ``ContractDescription``s, which count when the operator pins their digest.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Protocol

from quoteway.errors import ConfigError
from quoteway.evm.abi import Function
from quoteway.evm.address import parse_address
from quoteway.evm.calls.balancer_batch_router import BatchRouterSwap
from quoteway.evm.calls.balancer_vault import VaultBatchSwap, VaultSwap
from quoteway.evm.calls.described import Described
from quoteway.evm.calls.known_calls import DESCRIBED
from quoteway.evm.calls.known_contracts import ADDRESSES
from quoteway.evm.calls.meaning import PairFactory, Reading, Sent
from quoteway.evm.calls.position_managers import PositionsV3, PositionsV4
from quoteway.evm.calls.swap_routers import ALGEBRA_ROUTER, V3_ROUTER, swap_calls
from quoteway.evm.calls.universal_router import UniversalRouter
from quoteway.models import Address, ContractDescription, Step
from quoteway.networks import Network


class Reader(Protocol):
    """Reads one function's calls."""

    @property
    def function(self) -> Function: ...

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""


_ROUTER = "uniswap.universal-router@"
_PAIR_FACTORY, _PAIR_INIT_CODE_HASH = (
    "uniswap.v2-factory",
    "96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f",
)
"""A factory of v2 pairs, and the hash of Uniswap's. Its kind names the hash of another, after an ``@``."""
_READERS: Mapping[str, Sequence[Callable[[], Reader]]] = {
    "algebra.router": swap_calls(ALGEBRA_ROUTER),
    "uniswap.v3-positions": (PositionsV3,),
    "uniswap.v3-router": swap_calls(V3_ROUTER),
    "uniswap.v4-positions": (PositionsV4,),
    "balancer.batch-router": (BatchRouterSwap,),
    "balancer.vault": (VaultSwap, VaultBatchSwap),
}
_TITLES: Mapping[str, str] = {
    "weth9": "WETH9",
    "uniswap.v2-router": "Uniswap v2 router",
    "uniswap.universal-router": "Uniswap Universal Router",
    "uniswap.v3-positions": "Uniswap v3 positions",
    "uniswap.v3-router": "Uniswap v3 router",
    "uniswap.v4-positions": "Uniswap v4 positions",
    "balancer.batch-router": "Balancer Batch Router",
    "balancer.vault": "Balancer Vault",
    "across.spoke-pool": "Across SpokePool",
    "algebra.router": "Algebra router",
    "lifi.diamond": "LI.FI Diamond",
    "erc4626": "ERC-4626 vault",
    "managed-vault": "Managed vault",
    "managed-vault.factory": "Managed vault factory",
}
"""What people read of a kind, without its version. A fork has the title of what it is a fork of."""


@cache
def readers_of(kind: str) -> Mapping[bytes, Reader]:
    """Returns the readers of a kind of contract by selector. Raises ``ValueError`` for an unknown kind."""
    if kind.startswith(_ROUTER):
        router = UniversalRouter(kind.removeprefix(_ROUTER))
        return {router.function.selector: router}
    if kind in _READERS:
        return {reader.function.selector: reader for reader in (make() for make in _READERS[kind])}
    if kind not in DESCRIBED:
        known = ", ".join(sorted((*DESCRIBED, *_READERS, f"{_ROUTER}2.0", _PAIR_FACTORY)))
        raise ValueError(f"{kind!r} is no kind of contract; known: {known}")
    return {each.function.selector: each for each in map(Described, DESCRIBED[kind])}


def digest_of(descriptions: Iterable[ContractDescription]) -> str:
    """Returns ``sha256:`` and the digest of a plugin's descriptions, which an operator pins."""
    plain = [asdict(description) for description in descriptions]
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class CallRegistry:
    """The readers of the contracts of each chain."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        """Raises ``ConfigError`` for an address or a kind of a network's ``contracts`` that is none."""
        self._contracts: dict[tuple[int, Address], Mapping[bytes, Reader]] = {}
        self._titles: dict[tuple[int, Address], str] = {}
        self._code_hashes: dict[tuple[int, Address], str] = {}
        self._wrapped: dict[int, Address] = {}
        self._factories: defaultdict[int, tuple[PairFactory, ...]] = defaultdict(tuple)
        for network in networks:
            if network.wrapped_native is not None:
                self._wrapped[network.chain_id] = parse_address(network.wrapped_native)
            known = dict(ADDRESSES.get(network.chain_id, {}))
            if network.wrapped_native is not None:
                known[network.wrapped_native] = "weth9"
            for address, kind in {**known, **network.contracts}.items():
                try:
                    key = network.chain_id, parse_address(address)
                    if kind.partition("@")[0] == _PAIR_FACTORY:
                        self._factories[network.chain_id] += (_factory(key[1], kind),)
                    else:
                        self._contracts[key], self._titles[key] = readers_of(kind), _title(kind)
                except ValueError as error:
                    where = f"[networks.{network.slug}.contracts] {address!r}"
                    raise ConfigError(f"{where}: {error}") from None

    def add(self, descriptions: Iterable[ContractDescription]) -> None:
        """Adds a plugin's pinned descriptions. What the core knows of a contract is not replaced.

        Raises ``ValueError`` for a description that cannot be read.
        """
        for description in descriptions:
            readers = {each.function.selector: each for each in map(Described, description.calls)}
            for place in description.deployments:
                key = place.chain_id, parse_address(place.address)
                if key in self._contracts:
                    continue
                self._contracts[key], self._titles[key] = readers, description.name
                if place.code_hash is not None:
                    self._code_hashes[key] = place.code_hash.lower()

    def wrapped_native(self, chain_id: int) -> Address | None:
        """Returns the wrapped native coin of a chain, where known."""
        return self._wrapped.get(chain_id)

    def knows(self, chain_id: int, address: Address) -> bool:
        """Returns whether calls of a contract can be read."""
        return (chain_id, address) in self._contracts

    def code_hash(self, chain_id: int, address: Address) -> str | None:
        """Returns the Keccak-256 hash of the code that a contract must have; None: any."""
        return self._code_hashes.get((chain_id, address))

    def title(self, chain_id: int, address: Address, *, kind: str | None = None) -> str | None:
        """Returns what kind of contract it is, in words; ``kind`` as for ``read``. None: not known."""
        return self._titles.get((chain_id, address)) or (None if kind is None else _title(kind))

    def readable(self, step: Step, sender: Address) -> bool | None:
        """Returns whether a transaction can be read; None when nothing describes the function."""
        try:
            return None if self.read(step, sender) is None else True
        except ValueError:
            return False

    def read(self, step: Step, sender: Address, *, kind: str | None = None) -> Reading | None:
        """Returns what a transaction means; None when nothing describes the function that it calls.

        ``kind`` is what the vault is that a request names, at whatever address. Raises ``ValueError`` for
        calldata that is no canonical call of its function.
        """
        readers = self._contracts.get((step.chain_id, step.to), {})
        reader = readers.get(step.data[:4])
        if reader is None and kind is not None:
            reader = readers_of(kind).get(step.data[:4])
        if reader is None:
            return None
        wrapped = self._wrapped.get(step.chain_id)
        factories = self._factories.get(step.chain_id, ())
        reading = reader.read(Sent(step.to, step.data, step.value, sender, wrapped, factories))
        if not isinstance(reader, Described):
            return reading
        return replace(reading, descriptor=reader.descriptor(step.chain_id, step.to))


def _factory(address: Address, kind: str) -> PairFactory:
    """Returns the factory of v2 pairs of this kind. Raises ``ValueError`` for a hash that is none."""
    digest = _PAIR_INIT_CODE_HASH if kind == _PAIR_FACTORY else kind.partition("@")[2].removeprefix("0x")
    if re.fullmatch("[0-9a-fA-F]{64}", digest) is None:
        raise ValueError(f"{kind!r} names no init code hash of 32 bytes")
    return PairFactory(address, bytes.fromhex(digest))


def _title(kind: str) -> str:
    return _TITLES[kind.partition("@")[0]]
