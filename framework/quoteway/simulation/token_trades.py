"""Simulates a purchase of a token from a pool and a sale to it, to find taxes and sales that fail."""

from __future__ import annotations

from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.address import unused_address
from quoteway.evm.assumed_balance import assume_balance
from quoteway.evm.chain import RpcChain, SimulatedCall, SimulationUnsupported
from quoteway.models import NATIVE, Address, Block, TradeTax

TRANSFER_FROM = function("transferFrom(address from, address to, uint256 amount) returns (bool)")

_BUYER = unused_address("quoteway.token_trades.buyer")
_SELLER = unused_address("quoteway.token_trades.seller")
_ROUTER = unused_address("quoteway.token_trades.router")
_CALL_GAS = 2_000_000


async def trade_tax(chain: RpcChain, token: Address, pool: Address, block: Block) -> TradeTax | None:
    """Returns what transfers from a pool (a purchase) and to it (a sale) lose, on the state after ``block``.

    A thousandth of the pool's balance is traded. As with a router, an account that the seller approved makes
    the sale. The seller is another account than the buyer where a balance can be assumed, because some tokens
    let nobody sell in the block of his purchase. None when it cannot be measured. Raises ``UpstreamError``.
    """
    (held,) = await chain.call_many([erc20.balance_read(pool, token)], block=block)
    amount = (erc20.word(held) or 0) // 1_000
    if not amount:
        return None
    overrides = await assume_balance(chain, token, _SELLER, amount, block)
    # Without an assumed balance the buyer sells: less than he bought, because a tax may have been taken.
    seller, sold = (_BUYER, amount // 100) if overrides is None else (_SELLER, amount)

    def balance(account: Address) -> SimulatedCall:
        return SimulatedCall(NATIVE, token, erc20.BALANCE_OF.encode([account]), gas=_CALL_GAS)

    def call(sender: Address, data: bytes) -> SimulatedCall:
        return SimulatedCall(sender, token, data, gas=_CALL_GAS)

    calls = [
        balance(_BUYER),
        call(pool, erc20.TRANSFER.encode([_BUYER, amount])),
        balance(_BUYER),
        balance(pool),
        call(seller, erc20.APPROVE.encode([_ROUTER, sold])),
        call(_ROUTER, TRANSFER_FROM.encode([seller, pool, sold])),
        balance(pool),
    ]
    try:
        results = await chain.simulate(calls, block=block, overrides=overrides)
    except SimulationUnsupported:
        return None
    words = [erc20.word(result.output) if result.ok else None for result in results]
    buyer_before, _, buyer_after, pool_before, _, _, pool_after = words
    if buyer_before is None or buyer_after is None or pool_before is None or pool_after is None:
        return None
    bought = buyer_after - buyer_before
    if seller == _BUYER and bought < sold:
        return TradeTax(token, None if not results[1].ok else _lost_bps(amount, bought), None, None)
    got = pool_after - pool_before
    sellable = results[5].ok and got > 0
    return TradeTax(
        token,
        _lost_bps(amount, bought) if results[1].ok else None,
        _lost_bps(sold, got) if sellable else None,
        sellable,
    )


def _lost_bps(sent: int, arrived: int) -> int:
    """Returns the basis points that are missing, rounded to the nearest; 0 when more arrived."""
    return max(0, ((sent - arrived) * 10_000 + sent // 2) // sent)
