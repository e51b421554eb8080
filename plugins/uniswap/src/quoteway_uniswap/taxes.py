"""Measures transfer taxes (fee on transfer) of tokens in a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import TTLCache
from quoteway import NATIVE, Address, Block, Chain, GatewayError, InvalidRequest, Reason, Token
from quoteway.evm.abi import event_topic
from quoteway.evm.address import checksum
from quoteway.evm.chain import SimulatedCall, SimulatedResult, SimulationUnsupported
from quoteway.evm.erc20 import BALANCE_OF, TRANSFER
from quoteway.evm.token_text import display_name

from quoteway_uniswap.candidates import pools_of_pair, sorted_pair
from quoteway_uniswap.deployments import Deployment

REMEMBER_S = 3600
"""Taxes change rarely, and every action is simulated before it is returned."""
RETRY_S = 60

# An account without tokens and without code.
_RECEIVER = checksum("0x" + event_topic("quoteway_uniswap.taxes")[-40:])
_CALL_GAS = 500_000
_TRANSFERS = (2, 5)
"""The positions of the transfers among the calls of ``_probe``; the others read balances."""


@dataclass(frozen=True, slots=True)
class Tax:
    """Basis points withheld from transfers out of a pool and into a pool."""

    from_pool_bps: int = 0
    to_pool_bps: int = 0


NO_TAX = Tax()


class TransferTaxes:
    """The taxes of one chain's tokens. Base tokens are assumed to have none."""

    def __init__(self, chain: Chain, deployments: Sequence[Deployment], clock: Callable[[], float]) -> None:
        self._chain = chain
        self._deployments = deployments
        self._clean = {NATIVE, *(token for deployment in deployments for token in deployment.pass_through)}
        self._known: TTLCache[Address, Tax | InvalidRequest] = TTLCache(4096, REMEMBER_S, timer=clock)
        self._unknown: TTLCache[Address, None] = TTLCache(4096, RETRY_S, timer=clock)

    async def of(self, token: Token, block: Block) -> Tax:
        """Returns a token's tax, ``NO_TAX`` when it cannot be measured: the simulation then shows it.

        Takes one round trip the first time. Raises InvalidRequest for a tax that cannot be quoted exactly.
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
        """Simulates a transfer from each pool to an empty account, and half of it back, in one request.

        Returns None when no pool holds enough.
        """
        holders = self._holders(token.address)
        # Both amounts are multiples of 10,000, so that a tax in whole basis points is not rounded.
        amount = 20_000 * 10 ** max(token.decimals - 6, 0)
        calls = [call for holder in holders for call in _probe(token.address, holder, amount)]
        results = await self._chain.simulate(calls, block=block)
        size = len(calls) // len(holders)
        for start in range(0, len(results), size):
            part = results[start : start + size]
            balances = [result.output for index, result in enumerate(part) if index not in _TRANSFERS]
            # Calls to an address without code succeed and return nothing.
            if all(result.ok for result in part) and all(len(balance) >= 32 for balance in balances):
                return _tax_of(token, part, amount)
        return None

    def _holders(self, token: Address) -> list[Address]:
        """Returns pools against the base tokens, v2 first: taxed tokens are routed only through v2."""
        refs = [
            ref
            for deployment in self._deployments
            for base in deployment.pass_through
            for ref in pools_of_pair(deployment, *sorted_pair(token, base))
            if ref.kind != "v3" or base == deployment.wrapped_native
        ]
        refs.sort(key=lambda ref: ref.kind)
        return list(dict.fromkeys(ref.target for ref in refs))


def _probe(token: Address, holder: Address, amount: int) -> list[SimulatedCall]:
    def balance(account: Address) -> SimulatedCall:
        return SimulatedCall(_RECEIVER, token, BALANCE_OF.encode([account]), gas=_CALL_GAS)

    def transfer(sender: Address, to: Address, value: int) -> SimulatedCall:
        return SimulatedCall(sender, token, TRANSFER.encode([to, value]), gas=_CALL_GAS)

    return [
        balance(holder),
        balance(_RECEIVER),
        transfer(holder, _RECEIVER, amount),
        balance(holder),
        balance(_RECEIVER),
        transfer(_RECEIVER, holder, amount // 2),
        balance(holder),
        balance(_RECEIVER),
    ]


def _tax_of(token: Token, results: Sequence[SimulatedResult], amount: int) -> Tax | InvalidRequest:
    holder0, receiver0, _, holder1, receiver1, _, holder2, receiver2 = (
        int.from_bytes(result.output[:32], "big") for result in results
    )
    bps = []
    for sent, left, arrived in (
        (amount, holder0 - holder1, receiver1 - receiver0),
        (amount // 2, receiver1 - receiver2, holder2 - holder1),
    ):
        tax, rest = divmod((sent - arrived) * 10_000, sent)
        if left != sent or rest or not 0 <= tax < 10_000:
            return InvalidRequest(
                f"Transfers of {display_name(token)} lose an amount that is not a whole number of "
                "basis points: an exact quote is not possible.",
                reason=Reason.UNSUPPORTED_TOKEN,
            )
        bps.append(tax)
    return Tax(from_pool_bps=bps[0], to_pool_bps=bps[1])
