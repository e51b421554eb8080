"""What the chain says of tokens."""

import pytest
from devnet_nodes import NOBODY, RICH, token
from quoteway.evm import erc20
from quoteway.evm.chain import CallFailed
from quoteway.evm.token_text import shown_symbol
from quoteway.models import NATIVE


async def test_the_facts_of_every_devnet_token_in_one_round_trip(chain, devnet):
    block = await chain.head()
    for row in devnet.chains["devnet"].tokens:
        sent = chain.requests
        found = await erc20.token_facts(chain, row.address, block)
        assert (found.symbol, found.name, found.decimals) == (row.symbol, row.name, row.decimals)
        assert chain.requests == sent + 1


async def test_what_is_no_token_has_no_facts(chain, devnet):
    assert await erc20.token_facts(chain, NOBODY) is None
    assert await erc20.token_facts(chain, "0xcA11bde05977b3631167028862bE2a173976CA11") is None
    assert (await erc20.token_facts(chain, NATIVE)).symbol == "ETH"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"MKR".ljust(32, b"\0"), "MKR"),
        (bytes(32), None),
        (b"\xff" * 32, None),
        ((32).to_bytes(32) + (3).to_bytes(32) + b"UNI".ljust(32, b"\0"), "UNI"),
        ((32).to_bytes(32) + (3).to_bytes(32) + b"UNI", "UNI"),  # unpadded
        ((32).to_bytes(32) + (200).to_bytes(32) + b"N" * 224, None),
        ((32).to_bytes(32) + (2**255).to_bytes(32) + b"N" * 32, None),
        ((2**255).to_bytes(32) * 2, None),
        ((32).to_bytes(32) + (4).to_bytes(32) + b"A\nB\0".ljust(32, b"\0"), None),
        ((32).to_bytes(32) + (6).to_bytes(32) + "A\u202eB".encode().ljust(32, b"\0"), None),
        (b"", None),
        (CallFailed(b""), None),
    ],
)
def test_texts_of_tokens(output, text):
    assert shown_symbol(erc20.text(output)) == text


async def test_a_transfer_tax_is_measured(chain, devnet):
    assert await erc20.transfer_tax(chain, token(devnet, "TAX"), RICH, 10**6) == (10**6, 990_000)
    assert await erc20.transfer_tax(chain, token(devnet, "USDT"), RICH, 10**6) == (10**6, 10**6)
    assert await erc20.transfer_tax(chain, token(devnet, "USDC"), NOBODY, 10**6) is None
