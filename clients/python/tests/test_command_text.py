"""How commands write amounts: exact, with their sign."""

import pytest
from quoteway_client.commands import text
from quoteway_client.models.shared import TokenRef

TOKEN = TokenRef(
    address="0x" + "ab" * 20,
    chain_id=1,
    network="ethereum",
    symbol="USDX",
    name=None,
    decimals=6,
    is_native=False,
    logo_uri=None,
    price_usd=None,
)


@pytest.mark.parametrize(
    ("units", "shown"),
    [
        (0, "0"),
        (1, "0.000001"),
        (-1, "-0.000001"),
        (-999_999, "-0.999999"),
        (-1_000_000, "-1"),
        (-1_234_567_890_000, "-1,234,567.89"),
        (1_234_567_890_001, "1,234,567.890001"),
    ],
)
def test_an_amount_keeps_its_sign(units, shown):
    assert text.quantity(units, TOKEN) == shown
    assert text.amount(units, TOKEN) == f"{shown} USDX"
