"""Reads policy files: what a custody desk allows, as data.

A file is TOML with ``[[rules]]``, one for each group of accounts. A list of a rule that is absent restricts
nothing; one that is there allows only what it names. ``docs/how-to/restrict-what-may-be-signed.md`` is the
description for people.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from marshmallow import ValidationError, fields, validate

from quoteway.config.bounded_file import UnreadableFile, read_bounded
from quoteway.config.fields import (
    Listing,
    Table,
    Tables,
    choice,
    flag,
    integer,
    load_section,
    setting,
    slug,
    text,
)
from quoteway.config.loading import sentences
from quoteway.errors import ConfigError
from quoteway.evm.abi import function
from quoteway.evm.address import is_native_alias, parse_address
from quoteway.models import NATIVE, Address
from quoteway.near_names import suggestion

Kind = Literal["swap", "bridge", "pool", "vault", "revocation"]
Per = Literal["sender", "rule"]
SENDER = "sender"
"""Stands for the account that signs, in ``recipients``."""
MAX_FILE_BYTES = 1_048_576
MAX_WINDOW_S = 31 * 86_400

COMMAND = re.compile(r"[A-Z][A-Z0-9_]*")
"""The name of a command of a router, which has no selector."""
_SELECTOR = re.compile(r"0x[0-9a-fA-F]{8}")
AMOUNT = re.compile(r"[0-9]{1,78}(\.[0-9]{1,36})?", re.ASCII)

ByNetwork = Mapping[str, tuple[Address, ...]]
"""Addresses by the name of their network."""


class _Address(fields.Field[str]):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("expected an address: 0x and 40 hexadecimal digits")
        try:
            return parse_address(value)
        except ValueError as error:
            raise ValidationError(f"{value[:60]!r} is no address: {error}") from None


class _Token(_Address):
    """An address, or ``native`` for the network's own coin."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if isinstance(value, str) and is_native_alias(value):
            return NATIVE
        return super()._deserialize(value, attr, data, **kwargs)


class _Recipient(_Address):
    """An address, or ``sender``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return SENDER if value == SENDER else super()._deserialize(value, attr, data, **kwargs)


class _Function(fields.Field[str]):
    """A selector, a signature, or the name of a router's command. Gives the selector or the name."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        expected = (
            '"approve(address,uint256)", "0x095ea7b3" or a router\'s command such as "V3_SWAP_EXACT_IN"'
        )
        if not isinstance(value, str):
            raise ValidationError(f"expected {expected}")
        if _SELECTOR.fullmatch(value):
            return value.lower()
        if COMMAND.fullmatch(value):
            return value
        try:
            return "0x" + function(value).selector.hex()
        except ValueError:
            raise ValidationError(f"{value[:100]!r} is no function: expected {expected}") from None


class _Amount(fields.Field[Decimal]):
    """A number of whole tokens."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Decimal:
        written = str(value) if type(value) is int else value
        if not isinstance(written, str) or AMOUNT.fullmatch(written) is None:
            raise ValidationError('expected a number of whole tokens in quotes, such as "1000" or "0.5"')
        return Decimal(written)


class _ByNetwork(Tables):
    """Values by the name of their network."""

    default_error_messages = {"invalid": 'expected a table by network, as in `ethereum = ["0x..."]`'}

    def __init__(self, values: fields.Field[Any]) -> None:
        super().__init__(keys=slug(), values=values)


class _Amounts(Tables):
    """The most of each token. Two spellings of one address are refused: which counts would be a guess."""

    default_error_messages = {"invalid": 'expected amounts by token, as in `native = "1.5"`'}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        # marshmallow has no types for it
        amounts = super()._deserialize(value, attr, data, **kwargs)  # type: ignore[no-untyped-call]
        if len(amounts) != len(value):
            raise ValidationError("names a token twice: give it one amount")
        return amounts


@dataclass(frozen=True, slots=True)
class AmountPerTime:
    """The most of one token, in whole tokens, that actions may take within any ``window_s`` seconds.

    ``per`` says whose amounts are added up: those of each sender by itself, or of all accounts of the rule.
    """

    name: str = setting(text(64, 1))
    network: str = setting(slug())
    token: Address = setting(_Token())
    amount: Decimal = setting(_Amount())
    window_s: int = setting(integer(60, MAX_WINDOW_S))
    per: Per = setting(choice(Per))


@dataclass(frozen=True, slots=True)
class Rule:
    """What a group of accounts may sign. None: not restricted.

    ``functions`` are selectors (0x hex) and names of commands. ``max_amounts`` are in whole tokens.
    """

    name: str = setting(text(64, 1))
    senders: tuple[Address, ...] | None = setting(Listing(_Address()), default=None)
    networks: tuple[str, ...] | None = setting(Listing(slug()), default=None)
    kinds: tuple[str, ...] | None = setting(Listing(choice(Kind)), default=None)
    providers: tuple[str, ...] | None = setting(Listing(text(64, 1)), default=None)
    least_level: int | None = setting(integer(0, 3), default=None)
    quorum: int | None = setting(integer(1, 16), default=None)
    pay: ByNetwork | None = setting(_ByNetwork(Listing(_Token())), default=None)
    receive: ByNetwork | None = setting(_ByNetwork(Listing(_Token())), default=None)
    recipients: ByNetwork | None = setting(_ByNetwork(Listing(_Recipient())), default=None)
    spenders: ByNetwork | None = setting(_ByNetwork(Listing(_Address())), default=None)
    contracts: ByNetwork | None = setting(_ByNetwork(Listing(_Address())), default=None)
    functions: tuple[str, ...] | None = setting(Listing(_Function()), default=None)
    allow_opaque: bool = setting(flag(), default=False)
    max_price_impact_bps: int | None = setting(integer(0, 10_000), default=None)
    max_slippage_bps: int | None = setting(integer(0, 10_000), default=None)
    max_amounts: Mapping[str, Mapping[Address, Decimal]] | None = setting(
        _ByNetwork(_Amounts(keys=_Token(), values=_Amount())), default=None
    )
    amounts_per_time: tuple[AmountPerTime, ...] | None = setting(Listing(Table(AmountPerTime)), default=None)
    require_simulation: bool = setting(flag(), default=False)

    @property
    def named_networks(self) -> Iterable[str]:
        """Yields every network that the rule names."""
        yield from self.networks or ()
        for table in (self.pay, self.receive, self.recipients, self.spenders, self.contracts):
            yield from table or ()
        yield from self.max_amounts or ()
        yield from (limit.network for limit in self.amounts_per_time or ())


@dataclass(frozen=True, slots=True)
class ScreeningRules:
    """The names of plugins that must allow each action, and whether any screening plugin must be there."""

    plugins: tuple[str, ...] = setting(Listing(text(64, 1)), default=())
    required: bool = setting(flag(), default=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a policy file, in order: the first that has the sender decides.

    ``digest`` is ``sha256:`` and the SHA-256 of the file's bytes.
    """

    rules: tuple[Rule, ...] = setting(Listing(Table(Rule), validate=validate.Length(1)))
    screening: ScreeningRules = setting(Table(ScreeningRules), default=ScreeningRules())
    digest: str = ""

    def rule_of(self, sender: Address) -> Rule | None:
        """Returns the rule that decides the actions of an account: the first that has it."""
        return next((each for each in self.rules if each.senders is None or sender in each.senders), None)

    @property
    def limits(self) -> tuple[AmountPerTime, ...]:
        """Returns the amounts per time of all rules."""
        return tuple(limit for rule in self.rules for limit in rule.amounts_per_time or ())


def read_policy(path: Path, copy: Path | None = None) -> Policy:
    """Reads a policy file, or a ``copy`` of it. Raises ``ConfigError`` as ``parse_policy`` does."""
    return parse_policy(read_policy_file(path if copy is None else copy), str(path))


def read_policy_file(path: Path) -> bytes:
    """Returns the content of a policy file. Raises ``ConfigError`` when it cannot be read."""
    try:
        return read_bounded(path, MAX_FILE_BYTES, "one policy file")
    except UnreadableFile as error:
        raise ConfigError(f"policy.file: {error}") from None


def parse_policy(data: bytes, source: str) -> Policy:
    """Reads the content of a policy file; ``source`` says where it is from.

    Raises ``ConfigError`` that names each wrong member and what is expected.
    """
    try:
        tree = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from None
    try:
        policy = load_section(Policy, tree)
    except ValidationError as error:
        raise ConfigError(f"{source}: " + "; ".join(sentences("", error.messages))) from None
    names = [rule.name for rule in policy.rules]
    if len(set(names)) != len(names):
        raise ConfigError(f"{source}: rules: two have the same name: give each a name of its own")
    limits = [limit.name for limit in policy.limits]
    if len(set(limits)) != len(limits):
        raise ConfigError(f"{source}: amounts_per_time: two have the same name: give each a name of its own")
    for rule in policy.rules:
        counted = [
            (each.network, each.token, each.window_s, each.per) for each in rule.amounts_per_time or ()
        ]
        if len(set(counted)) != len(counted):
            raise ConfigError(
                f"{source}: rule {rule.name!r}: two amounts_per_time have the same network, token, window_s "
                "and per: keep one"
            )
    everybody = next((rule for rule in policy.rules[:-1] if rule.senders is None), None)
    if everybody is not None:
        raise ConfigError(
            f"{source}: rules: {everybody.name!r} has no senders, so the rules after it never decide: put it "
            "last"
        )
    return replace(policy, digest="sha256:" + hashlib.sha256(data).hexdigest())


def check_names(policy: Policy, networks: Iterable[str], plugins: Iterable[str], source: str) -> None:
    """Raises ``ConfigError`` for a network or plugin of the policy that the deployment does not have."""
    names = list(networks)
    for rule in policy.rules:
        for name in rule.named_networks:
            if name not in names:
                raise ConfigError(
                    f"{source}: rule {rule.name!r}: network {name!r} is unknown.{suggestion(name, names)}"
                )
    installed = list(plugins)
    for name in policy.screening.plugins:
        if name not in installed:
            raise ConfigError(
                f"{source}: screening.plugins: plugin {name!r} is unknown.{suggestion(name, installed)}"
            )
