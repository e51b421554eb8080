"""Swap providers: at a fixed rate, and through a Uniswap v2 router."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quoteway import (
    Address,
    Build,
    CallDescription,
    Context,
    ContractDescription,
    DeployedAt,
    Leg,
    PaymentRoles,
    Quote,
    RpcError,
    SealedQuote,
    Spend,
    SpendRoles,
    Step,
    SwapProvider,
    SwapRequest,
)
from quoteway.evm.abi import Function, function

FAKE_TARGET = "0x0000000000000000000000000000000000070701"
"""The target of offline fakes' transactions. It has no code on any chain."""

_SWAP = "swap(address tokenIn, address tokenOut, uint256 amountIn, uint256 amountOutMin, address recipient)"
SEND = "send(uint256 toChainId, address recipient, address token, uint256 amountMin)"


FAKE_CALLS = ContractDescription(
    "fake",
    (
        CallDescription(
            _SWAP,
            "swap",
            spends=(SpendRoles("#.tokenIn", "#.amountIn"),),
            pays=(PaymentRoles("#.tokenOut", "#.recipient", "#.amountOutMin"),),
        ),
        CallDescription(
            SEND, "transfer", pays=(PaymentRoles("#.token", "#.recipient", "#.amountMin", "#.toChainId"),)
        ),
    ),
    tuple(
        DeployedAt(chain_id, FAKE_TARGET)
        for chain_id in (1, 2, 3, 7, 8, 10, 137, 4242, 8453, 42161, 31337, 31338)
    ),
)
"""What the calls of ``FAKE_TARGET`` mean, on the chains that tests use."""


def swap_quote(request: SwapRequest, amount_out: int, block: Any, **more: Any) -> Quote:
    """Returns a valid quote of ``amount_out`` base units, with the minimum from the request's slippage."""
    minimum = amount_out * (10_000 - request.slippage_bps) // 10_000
    return Quote(
        inputs=(Leg(request.token_in, request.amount_in, request.sender),),
        outputs=(Leg(request.token_out, amount_out, request.recipient, amount_min=minimum),),
        block=block,
        plan=more.pop("plan", {}),
        slippage_bps=request.slippage_bps,
        **more,
    )


def step_of(call: Function, args: Sequence[Any], *, to: Address, chain_id: int, value: int = 0) -> Step:
    """Returns a step that calls ``call`` with ``args``."""
    return Step(to, call.encode(args), value, chain_id)


class FixedRateSwap(SwapProvider):
    """Swaps anything at ``numerator / denominator`` base units out per base unit in.

    Its transactions call no real contract.
    """

    SWAP = function(_SWAP)

    def __init__(
        self,
        context: Context,
        *,
        provider_id: str = "fixed-rate",
        networks: Collection[int] | None = None,
        numerator: int = 1,
        denominator: int = 1,
    ) -> None:
        self.id = provider_id
        self.title = f"Fixed rate {numerator}/{denominator}"
        self.networks = frozenset(
            networks if networks is not None else (n.chain_id for n in context.networks)
        )
        self._context = context
        self._rate = numerator, denominator

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {FAKE_TARGET: "Fake exchange"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return (FAKE_TARGET,)

    async def quote(self, request: SwapRequest) -> Quote | None:
        block = await self._context.chain(request.chain_id).head()
        numerator, denominator = self._rate
        amount_out = request.amount_in * numerator // denominator
        return swap_quote(request, amount_out, block, spends=self._spends(request)) if amount_out else None

    async def build(self, sealed: SealedQuote) -> Build:
        request, (got,) = sealed.request, sealed.outputs
        assert isinstance(request, SwapRequest)
        args = [
            request.token_in.address,
            request.token_out.address,
            request.amount_in,
            got.amount_min,
            request.recipient,
        ]
        value = request.amount_in if request.token_in.is_native else 0
        step = step_of(self.SWAP, args, to=FAKE_TARGET, chain_id=request.chain_id, value=value)
        return Build((step,), self._spends(request), sealed.inputs, sealed.outputs)

    def _spends(self, request: SwapRequest) -> tuple[Spend, ...]:
        if request.token_in.is_native:
            return ()
        return (Spend(request.token_in.address, request.amount_in, FAKE_TARGET),)


class RouterSwap(SwapProvider):
    """Swaps one ERC-20 token for another through one pool of a Uniswap v2 router (``UniswapV2Router02``)."""

    title = "Uniswap v2 router"
    AMOUNTS_OUT = function("getAmountsOut(uint256 amountIn, address[] path) returns (uint256[] amounts)")
    SWAP = function(
        "swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to,"
        " uint256 deadline)"
    )

    def __init__(
        self, context: Context, chain_id: int, router: Address, *, provider_id: str = "router"
    ) -> None:
        self.id = provider_id
        self.networks = frozenset({chain_id})
        self.router = router
        self._context = context

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {self.router: "Uniswap v2 router"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return (self.router,)

    async def quote(self, request: SwapRequest) -> Quote | None:
        if request.token_in.is_native or request.token_out.is_native:
            return None
        chain = self._context.chain(request.chain_id)
        block = await chain.head()
        path = [request.token_in.address, request.token_out.address]
        try:
            output = await chain.call(
                self.router, self.AMOUNTS_OUT.encode([request.amount_in, path]), block=block
            )
        except RpcError:
            return None  # no such pool, or too little liquidity
        ((_, amount_out),) = self.AMOUNTS_OUT.decode_output(output)
        spends = (Spend(path[0], request.amount_in, self.router),)
        return swap_quote(request, amount_out, block, spends=spends, plan={"path": path})

    async def build(self, sealed: SealedQuote) -> Build:
        (sold,), (got,) = sealed.inputs, sealed.outputs
        # From the quote, not the clock, so that the same token gives the same bytes.
        deadline = sealed.deadline or sealed.created_at + self._context.config.quotes.action_deadline_s
        args = [sold.amount, got.amount_min, sealed.plan["path"], got.account, deadline]
        step = step_of(self.SWAP, args, to=self.router, chain_id=sold.token.chain_id)
        spends = (Spend(sold.token.address, sold.amount, self.router),)
        return Build((step,), spends, sealed.inputs, sealed.outputs, deadline)
