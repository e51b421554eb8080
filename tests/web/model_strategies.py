"""Hypothesis strategies for the dataclasses of ``quoteway.models`` and what wraps them."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from quoteway import models
from quoteway.evm.address import checksum

ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: checksum("0x" + raw.hex()))
TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=12)
CHAIN_IDS = st.sampled_from([1, 10])
AMOUNTS = st.integers(0, models.MAX_UINT256)
TIMES = st.integers(0, 253_402_300_799)

# By member name, where the type alone says too little.
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(
        (
            "address",
            "account",
            "spender",
            "owner",
            "hooks",
            "to",
            "sender",
            "recipient",
            "asset",
            "bot",
            "contract",
            "counterparty",
            "refund_to",
        ),
        ADDRESSES,
    ),
    **dict.fromkeys(("chain_id", "to_chain_id", "from_chain_id"), CHAIN_IDS),
    **dict.fromkeys(("updated_at", "created_at", "expires_at"), TIMES),
    "vault_id": st.tuples(CHAIN_IDS, ADDRESSES).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    "pool_id": st.tuples(CHAIN_IDS, ADDRESSES).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    "decimals": st.integers(0, 255),
    "digest": st.binary(min_size=32, max_size=32).map(lambda raw: "0x" + raw.hex()),
    "capability": st.sampled_from([models.Capability.SWAP, models.Capability.BRIDGE]),
    "delta": st.integers(-models.MAX_UINT256, models.MAX_UINT256),
    "value": st.integers(0, models.MAX_UINT256),
    "inner": st.just(()) | st.just((models.DecodedCall("f()", ()),)),
    "terms": st.none(),
}
LINKS = st.sampled_from(["https://example.org/a.png", "javascript:alert(1)"])
TYPED_AMOUNTS = ("amount", "required", "current", "actual", "before", "after", "liquidity", "total_assets")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.binary(max_size=4) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.builds(models.Argument, TEXTS, TEXTS, inner),
    max_leaves=4,
)


def member(owner: type, name: str, kind: Any) -> st.SearchStrategy[Any]:
    """Values of one member of a dataclass."""
    optional = get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)
    if (owner, name) == (models.ActionPart, "steps"):
        return st.integers(1, 3)
    if (owner, name) == (models.SealedQuote, "parts"):
        return st.just(())
    if (owner, name) == (models.CertifiedPool, "tokens"):
        return st.lists(ADDRESSES, max_size=2).map(tuple)
    if (owner, name) == (models.Argument, "value"):
        return VALUES
    if name == "token" and kind in (str, str | None):
        values = ADDRESSES
    elif name.endswith(("_uri", "website", "whitepaper")):
        values = LINKS
    elif name in BY_NAME and not dataclasses.is_dataclass(kind) and kind != models.Token:
        values = BY_NAME[name]
    else:
        return of(kind, owner, name)
    return st.none() | values if optional else values


def of(kind: Any, owner: type, name: str) -> st.SearchStrategy[Any]:
    """Values of a type, as ``models`` uses types."""
    origin, args = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return instances(kind)
    if origin in (Union, UnionType):
        return st.one_of(*(st.none() if arg is NoneType else of(arg, owner, name) for arg in args))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple and args[-1] is not Ellipsis:
        return st.tuples(*(of(arg, owner, name) for arg in args))
    if origin in (tuple, Sequence):
        least = 1 if name in ("inputs", "outputs", "parts") else 0
        return st.lists(of(args[0], owner, name), min_size=least, max_size=2).map(tuple)
    if origin is Mapping:
        values = AMOUNTS if name == "caps" else of(args[1], owner, name)
        if name == "caps":
            values = values | st.none()
        return st.dictionaries(TEXTS, values, max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if kind is Any:
        return st.integers(0, 9)
    if name in ("token", "spender", "token_in", "token_out", "unpriced") and kind is str:
        return ADDRESSES
    return {
        str: TEXTS,
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bytes: st.binary(max_size=8),
        int: AMOUNTS if name.startswith(TYPED_AMOUNTS) else st.integers(0, (1 << 53) - 1),
    }[kind]


@functools.cache
def instances(kind: type) -> st.SearchStrategy[Any]:
    """Instances of a dataclass, deferred: a class may have members of itself."""

    def build() -> st.SearchStrategy[Any]:
        hints = get_type_hints(kind)
        return st.builds(
            kind, **{f.name: member(kind, f.name, hints[f.name]) for f in dataclasses.fields(kind)}
        )

    return st.deferred(build)
