"""What tokens keep of a transfer (fee on transfer), measured once per token in a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import TTLCache
from quoteway import NATIVE, Address, Block, Chain, GatewayError, InvalidRequest, Reason, Token
from quoteway.evm.abi import event_topic
from quoteway.evm.address import checksum
from quoteway.evm.chain import SimulatedCall, SimulatedResult, SimulationUnsupported
from quoteway.evm.erc20 import BALANCE_OF, TRANSFER

from quoteway_uniswap.candidates import pools_of_pair, sorted_pair
from quoteway_uniswap.deployments import Deployment

REMEMBER_S = 3600
"""A tax is a rate in the token's code or settings: it changes seldom, and an action is simulated all the
same.
"""
RETRY_S = 60

# An account that holds nothing and has no code.
_VISITOR = checksum("0x" + event_topic("quoteway_uniswap.taxes")[-40:])
_CALL_GAS = 500_000
_TRANSFERS = (2, 5)
"""Where the transfers are in a visit; the rest reads balances."""


@dataclass(frozen=True, slots=True)
class Tax:
    """Basis points that a token keeps of a transfer out of a pool and into one: many have two rates."""

    from_pool_bps: int = 0
    to_pool_bps: int = 0


NO_TAX = Tax()


class TransferTaxes:
    """The taxes of one chain's tokens. Tokens that routes may pass through are taken to have none."""

    def __init__(self, chain: Chain, deployments: Sequence[Deployment], clock: Callable[[], float]) -> None:
        self._chain = chain
        self._deployments = deployments
        self._clean = {NATIVE, *(token for deployment in deployments for token in deployment.pass_through)}
        self._known: TTLCache[Address, Tax | InvalidRequest] = TTLCache(4096, REMEMBER_S, timer=clock)
        self._unknown: TTLCache[Address, None] = TTLCache(4096, RETRY_S, timer=clock)

    async def of(self, token: Token, block: Block) -> Tax:
        """A token's tax; none where it cannot be measured (the simulation of the action then shows it).

        One round trip the first time. Raises InvalidRequest for a token whose tax cannot be quoted exactly.
        """
        if token.address in self._clean or token.address in self._unknown:
            return NO_TAX
        found: Tax | InvalidRequest | None = self._known.get(token.address)
        if found is None:
            try:
                found = await self._measure(token, block)
            except (GatewayError, SimulationUnsupported):
                found = None
            if found is None:
                self._unknown[token.address] = None
                return NO_TAX
            self._known[token.address] = found
        if isinstance(found, InvalidRequest):
            raise found
        return found

    async def _measure(self, token: Token, block: Block) -> Tax | InvalidRequest | None:
        """Small transfers from each place that may hold the token to a visitor, and half of it back, in one
        request.

        None when no place holds enough.
        """
        holders = self._holders(token.address)
        # Multiples of 10,000 both, so that a tax in whole basis points shows without rounding.
        amount = 20_000 * 10 ** max(token.decimals - 6, 0)
        visit = [call for holder in holders for call in _visit(token.address, holder, amount)]
        results = await self._chain.simulate(visit, block=block)
        size = len(visit) // len(holders)
        for start in range(0, len(results), size):
            part = results[start : start + size]
            balances = [result.output for index, result in enumerate(part) if index not in _TRANSFERS]
            # Calls to an address without code succeed, and answer nothing.
            if all(result.ok for result in part) and all(len(balance) >= 32 for balance in balances):
                return _tax_of(token, part, amount)
        return None

    def _holders(self, token: Address) -> list[Address]:
        """Pools against the base tokens, v2 first: a token that taxes is routed through no others."""
        refs = [
            ref
            for deployment in self._deployments
            for base in deployment.pass_through
            for ref in pools_of_pair(deployment, *sorted_pair(token, base))
            if ref.kind != "v3" or base == deployment.wrapped_native
        ]
        refs.sort(key=lambda ref: ref.kind)
        return list(dict.fromkeys(ref.target for ref in refs))


def _visit(token: Address, holder: Address, amount: int) -> list[SimulatedCall]:
    def balance(account: Address) -> SimulatedCall:
        return SimulatedCall(_VISITOR, token, BALANCE_OF.encode([account]), gas=_CALL_GAS)

    def transfer(sender: Address, to: Address, value: int) -> SimulatedCall:
        return SimulatedCall(sender, token, TRANSFER.encode([to, value]), gas=_CALL_GAS)

    return [
        balance(holder),
        balance(_VISITOR),
        transfer(holder, _VISITOR, amount),
        balance(holder),
        balance(_VISITOR),
        transfer(_VISITOR, holder, amount // 2),
        balance(holder),
        balance(_VISITOR),
    ]


def _tax_of(token: Token, results: Sequence[SimulatedResult], amount: int) -> Tax | InvalidRequest:
    holder0, visitor0, _, holder1, visitor1, _, holder2, visitor2 = (
        int.from_bytes(result.output[:32], "big") for result in results
    )
    bps = []
    for sent, left, arrived in (
        (amount, holder0 - holder1, visitor1 - visitor0),
        (amount // 2, visitor1 - visitor2, holder2 - holder1),
    ):
        tax, rest = divmod((sent - arrived) * 10_000, sent)
        if left != sent or rest or not 0 <= tax < 10_000:
            return InvalidRequest(
                f"Transfers of {token.symbol or token.address} do not arrive as sent, by an amount that no "
                "quote can state exactly.",
                reason=Reason.UNSUPPORTED_TOKEN,
            )
        bps.append(tax)
    return Tax(from_pool_bps=bps[0], to_pool_bps=bps[1])
