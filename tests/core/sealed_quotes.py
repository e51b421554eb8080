"""A quote to seal, keys to seal it with, and the refusal of a token that does not open."""

from dataclasses import replace

import pytest
from quoteway.engine.quote_tokens import (
    KeyRing,
    Sealer,
)
from quoteway.errors import NotFound, Reason
from quoteway.models import (
    NATIVE,
    Block,
    Capability,
    Leg,
    SealedQuote,
    SwapRequest,
    Token,
)

NOW = 1_800_000_000
KEY = b"k" * 32
OLD = b"o" * 32
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
ETHER = Token(1, NATIVE, 18, "ETH")


def sealer(*keys, issuer="quoteway", now=NOW):
    return Sealer(KeyRing(keys or [("a", KEY)]), issuer=issuer, clock=lambda: now)


def swap_quote(**changes):
    request = SwapRequest(1, 1, ETHER, USDC, 10**18, USER, USER, 50)
    quote = SealedQuote(
        Capability.SWAP,
        "uniswap",
        request,
        (Leg(ETHER, 10**18, USER),),
        (Leg(USDC, 3_500 * 10**6, USER, amount_min=3_482 * 10**6),),
        50,
        {"v": 1, "path": ["0x" + "ab" * 20, 500]},
        Block(20_000_000, "0x" + "cd" * 32, NOW - 5),
        NOW,
        NOW + 180,
    )
    return replace(quote, **changes)


def refused(seal, token, capability=Capability.SWAP, reason=Reason.QUOTE_INVALID):
    with pytest.raises(NotFound) as refusal:
        seal.open(capability, token)
    assert refusal.value.reason is reason
    assert len(token) < 20 or token[:50] not in refusal.value.message
    assert refusal.value.__cause__ is None
