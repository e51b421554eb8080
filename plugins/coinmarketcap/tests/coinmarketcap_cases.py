"""The tokens of the tests: one on two networks, a spoof with its symbol, and another."""

from quoteway import Token
from quoteway.evm.address import checksum

USDX = Token(1, checksum(f"0x{0xA1:040x}"), 6, "USDX", "Dollars")
USDX_ON_BASE = Token(8453, checksum(f"0x{0xA2:040x}"), 6, "USDX", "Dollars")
SPOOF = Token(1, checksum(f"0x{0xBAD:040x}"), 18, "USDX", "Dollars")
OTHER = Token(1, checksum(f"0x{0xA3:040x}"), 18, "OTHER", "Another")
LISTED = (USDX, SPOOF, OTHER, USDX_ON_BASE)


async def profile(api, token):
    answer = await api.get(f"/v2/tokens/{token.chain_id}:{token.address}")
    assert answer.status == 200, answer.body
    return answer.body
