"""A plugin's provider as the core sees it: facts that are read once, and members checked at each use.

The core does not keep the plugin's own object. So the id, the title and the other facts cannot change or
raise while requests are answered, and what may change at run time is read in one place.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar, cast

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.guard.raised import flaw_of_error
from quoteway.host.states import PLUGIN_ERRORS, told
from quoteway.models import LIMITS, Address, Header
from quoteway.networks import Network
from quoteway.providers import Provider, RpcUpstream, TokenCatalog

log = logging.getLogger("quoteway.host.checked_provider")

T = TypeVar("T")

MOST_NETWORKS = 512
"""The most networks of one provider."""
MOST_CONTRACTS = 20_000
"""The most contracts, and the most spenders, of one provider on one network."""
MOST_ACTIONS = 64
MOST_GAS = 1 << 32
"""The most gas units that a family may say."""
MOST_CHARS = 200
"""The longest title, name of an action and address of documentation."""


def _text(value: object) -> str:
    if type(value) is not str or not 0 < len(value) <= MOST_CHARS or not value.isprintable():
        raise ValueError(f"a printable text of at most {MOST_CHARS} characters")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError("True or False")
    return value


def _integer(value: object) -> int:
    if type(value) is not int:
        raise ValueError("an integer")
    return value


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _items(value, MOST_ACTIONS, "names")))


def _limits(value: object) -> tuple[str, ...]:
    found = _names(value)
    if not set(found) <= set(LIMITS):
        raise ValueError(f"names among {', '.join(LIMITS)}")
    return found


def _gas_by_family(value: object) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        raise ValueError("a mapping of families to gas units")
    found = dict(islice(value.items(), MOST_ACTIONS + 1))
    whole = all(type(units) is int and 0 < units <= MOST_GAS for units in found.values())
    if len(found) > MOST_ACTIONS or not whole:
        raise ValueError(f"a mapping of at most {MOST_ACTIONS} families to gas units")
    return MappingProxyType({_text(name): units for name, units in found.items()})


def _names_by_chain(value: object) -> Mapping[int, tuple[str, ...]]:
    expected = f"a mapping of at most {MOST_NETWORKS} chain ids to names"
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    found = dict(islice(value.items(), MOST_NETWORKS + 1))
    if len(found) > MOST_NETWORKS or any(type(chain_id) is not int for chain_id in found):
        raise ValueError(expected)
    return MappingProxyType({chain_id: _names(names) for chain_id, names in found.items()})


FIXED_MEMBERS: Mapping[str, Callable[[object], Any]] = {
    "title": _text,
    "docs": _optional_text,
    "has_quota": _flag,
    "plan_version": _integer,
    "cross_chain": _flag,
    "joins_providers": _flag,
    "honours": _limits,
    "exact_out": _flag,
    "protocols": _names,
    "enforces_fees": _flag,
    "actions": _names,
    "manage_actions": _names,
    "deploy_strategies": _names_by_chain,
    "families": _names,
    "sources": _names,
    "leg_gas": _gas_by_family,
    "transaction_gas": _integer,
    "coin_gas": _integer,
    "most_legs": _integer,
    "splits": _flag,
    "joins": _flag,
    "takes_coin": _flag,
    "enforces_deadline": _flag,
    "pays_others": _flag,
    "lists": _flag,
    "keeps_quorum": _flag,
}
"""What is read once, when a provider is registered. The functions raise ``ValueError`` as those below."""


@cache
def fixed_members_of(kind: type[Provider]) -> tuple[str, ...]:
    """Returns which of ``FIXED_MEMBERS`` a provider class has."""
    declared = {name for each in kind.__mro__ for name in inspect.get_annotations(each)}
    return tuple(name for name in FIXED_MEMBERS if name in declared)


def networks_in(value: object) -> frozenset[int]:
    """Returns chain ids. Raises ``ValueError`` with what is expected for anything else."""
    found = value if type(value) is frozenset else frozenset(_items(value, MOST_NETWORKS, "chain ids"))
    if len(found) > MOST_NETWORKS or any(type(each) is not int for each in found):
        raise ValueError(f"at most {MOST_NETWORKS} chain ids")
    return cast(frozenset[int], found)


def contracts_in(value: object) -> dict[Address, str]:
    """Returns the label of each address. Raises ``ValueError`` with what is expected for anything else."""
    if not isinstance(value, Mapping):
        raise ValueError("a mapping of addresses to labels")
    found = dict(islice(value.items(), MOST_CONTRACTS + 1))
    if len(found) > MOST_CONTRACTS or any(type(t) is not str for pair in found.items() for t in pair):
        raise ValueError(f"a mapping of at most {MOST_CONTRACTS} addresses to labels")
    return found


def spenders_in(value: object) -> tuple[Address, ...]:
    """Returns addresses. Raises ``ValueError`` with what is expected for anything else."""
    found = _items(value, MOST_CONTRACTS, "addresses")
    if any(type(each) is not str for each in found):
        raise ValueError(f"at most {MOST_CONTRACTS} addresses")
    return cast(tuple[Address, ...], found)


def revision_in(value: object) -> str:
    """Returns a revision. Raises ``ValueError`` with what is expected for anything else."""
    if type(value) is not str or len(value) > MOST_CHARS:
        raise ValueError(f"a text of at most {MOST_CHARS} characters")
    return value


def iterator_in(value: object) -> AsyncIterator[Any] | None:
    """Returns an async iterator or None. Raises ``ValueError`` with what is expected for anything else."""
    if value is not None and not isinstance(value, AsyncIterator):
        raise ValueError("an async iterator or None")
    return value


def bytes_in(value: object) -> bytes | None:
    """Returns bytes or None. Raises ``ValueError`` with what is expected for anything else."""
    if value is not None and type(value) is not bytes:
        raise ValueError("bytes or None")
    return value


def _items(value: object, most: int, what: str) -> tuple[Any, ...]:
    expected = f"at most {most} {what}"
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise ValueError(expected)
    found = tuple(islice(value, most + 1))
    if len(found) > most:
        raise ValueError(expected)
    return found


def fixed_facts(provider: Provider, kind: type[Provider]) -> dict[str, Any]:
    """Returns the facts of a provider object. Raises ``ValueError`` that names the member."""
    return {name: _fact(provider, name, FIXED_MEMBERS[name]) for name in fixed_members_of(kind)}


def _fact(provider: Provider, member: str, read: Callable[[object], Any]) -> Any:
    name = f"{type(provider).__name__}.{member}"
    try:
        value = getattr(provider, member, None)
        shown = repr(value)[:MOST_CHARS]
    except PLUGIN_ERRORS as error:
        raise ValueError(f"{name} raised {told(error)}") from error
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{name} is {shown}, expected {error}") from None


def checked(provider: Provider, kind: type[Provider], failed: Callable[[Provider, str], None]) -> Provider:
    """Returns a provider of class ``kind`` that stands for the plugin's object.

    ``failed`` is called with it and the name of a member whenever that cannot be read. Raises ``ValueError``
    that names a fact that is not as declared.
    """
    _fact(provider, "networks", networks_in)
    made: Provider = _checked_class(kind)(provider, fixed_facts(provider, kind), failed)
    return made


def plugins_own(provider: Provider) -> Provider:
    """Returns the plugin's object that a provider stands for; of the core's own providers, the same."""
    return provider.own if isinstance(provider, _Checked) else provider


class _Checked:
    """``networks``, ``serves``, ``revision`` and ``expected_contracts`` never raise. ``contracts`` and
    ``spenders`` raise ``UpstreamError`` when they cannot be read: without them, no answer of the provider can
    be checked.
    """

    def __init__(
        self, own: Provider, facts: Mapping[str, Any], failed: Callable[[Provider, str], None]
    ) -> None:
        self.id = own.id
        self.own = own
        self._failed = failed
        self._broken: set[str] = set()
        self._networks: frozenset[int] = frozenset()
        for name, value in facts.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<provider {self.id!r}>"

    def __getattr__(self, name: str) -> Any:
        """Returns a member that no class of ``quoteway.providers`` has, for tests. The core reads none."""
        if name == "own" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.own, name)

    @property
    def networks(self) -> frozenset[int]:
        """Returns the chain ids served now; none when they cannot be read."""
        self._networks = self._or(frozenset(), "networks", self._read_networks)
        return self._networks

    def _read_networks(self) -> frozenset[int]:
        found = self.own.networks
        # Read several times in each request, and usually the same object as the last time.
        return self._networks if found is self._networks else networks_in(found)

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        """Returns False when it cannot be read."""
        return self._or(False, "serves", lambda: bool(self.own.serves(chain_id, to_chain_id)))

    def revision(self) -> str:
        """Returns "" when it cannot be read: the list is not read again then."""
        return self._or("", "revision", lambda: revision_in(cast(TokenCatalog, self.own).revision()))

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return self._read("contracts", lambda: contracts_in(self.own.contracts(chain_id)))

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns none when they cannot be read: nothing is missed then."""
        read = partial(self.own.expected_contracts, chain_id)
        return self._or({}, "expected_contracts", lambda: contracts_in(read()))

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return self._read("spenders", lambda: spenders_in(self.own.spenders(chain_id)))

    def heads(self, network: Network) -> AsyncIterator[Header] | None:
        """Returns None when it cannot be read: the head is polled then."""
        read = partial(cast(RpcUpstream, self.own).heads, network)
        return self._or(None, "heads", lambda: iterator_in(read()))

    def kept(self, network: Network, method: str, params: bytes) -> bytes | None:
        """Returns None when it cannot be read: the call is forwarded then."""
        read = partial(cast(RpcUpstream, self.own).kept, network, method, params)
        return self._or(None, "kept", lambda: bytes_in(read()))

    def _or(self, default: T, member: str, read: Callable[[], T]) -> T:
        try:
            return self._read(member, read)
        except UpstreamError:
            return default

    def _read(self, member: str, read: Callable[[], T]) -> T:
        try:
            value = read()
        except PLUGIN_ERRORS as error:
            self._failed(cast(Provider, self), member)
            if member not in self._broken:
                self._broken.add(member)
                log.exception("provider %r: %s cannot be read or is not as declared", self.id, member)
            raise UpstreamError(
                f"The provider's {member} cannot be read.", reason=Reason.PROVIDER_ERROR, retryable=True
            ) from error
        self._broken.discard(member)
        return value


def spenders_of(provider: Provider, chain_id: int) -> Collection[Address]:
    """Returns the provider's spenders on a chain; none when they cannot be read."""
    try:
        return provider.spenders(chain_id)
    except UpstreamError:
        return ()


def contracts_of(provider: Provider, chain_id: int) -> Mapping[Address, str]:
    """Returns the provider's contracts on a chain; none when they cannot be read."""
    try:
        return provider.contracts(chain_id)
    except UpstreamError:
        return {}


@cache
def _checked_class(kind: type[Provider]) -> Any:
    methods = {name: _method(name) for name, _ in inspect.getmembers(kind, inspect.iscoroutinefunction)}
    return type(f"Checked{kind.__name__}", (_Checked, kind), {**methods, "__module__": __name__})


def _flaw_of(error: GatewayError) -> str | None:
    try:
        return flaw_of_error(error)
    except PLUGIN_ERRORS:
        return "members cannot be read"


def _method(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return await getattr(self.own, name)(*arguments, **named)
        except GatewayError as error:
            found = _flaw_of(error)
            if found is None:
                raise
            text = f"{name} of provider {self.id!r} raised a {type(error).__name__}, whose {found}"
            raise RuntimeError(text) from None  # its text may be of any size, or raise itself
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt in a task stop the event loop
            raise RuntimeError(f"{name} of provider {self.id!r} raised {type(error).__name__}") from error

    call.__name__ = name
    return call
