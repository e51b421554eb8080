"""Management actions and rebalancing: the required role, the calls, and their simulation as the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quoteway import (
    MAX_UINT256,
    NATIVE,
    Address,
    Block,
    Build,
    Chain,
    FieldError,
    InvalidRequest,
    ManagementTerms,
    ManageRequest,
    Quote,
    Reason,
    RequiredRole,
    RpcError,
    SealedQuote,
    Step,
    UpstreamError,
)
from quoteway.evm.abi import Function, function
from quoteway.evm.address import checksum, parse_address
from quoteway.evm.chain import Call
from quoteway.evm.erc20 import word
from quoteway.evm.reverts import revert_data, revert_reason
from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import LIMITS, READ_GAS, TOTAL_ASSETS
from quoteway_erc4626.orders import refused

from quoteway_managedvault.contracts import (
    BOT,
    IDLE_ASSETS,
    OWNER,
    REBALANCE,
    REFUSALS,
    ROLE_ERRORS,
    STRATEGIES,
    UNAUDITED,
)
from quoteway_managedvault.deployments import Deployment


@dataclass(frozen=True, slots=True)
class ManagementCall:
    """A management function, the role that may call it, and the request member of its argument."""

    function: Function
    role: Literal["owner", "owner or bot"]
    argument: Literal["amount", "bot", "strategy"] | None = None


MANAGEMENT_CALLS: Mapping[str, ManagementCall] = {
    "harvest": ManagementCall(function("harvest()"), "owner or bot"),
    "pause": ManagementCall(function("pause()"), "owner or bot"),
    "unpause": ManagementCall(function("unpause()"), "owner"),
    "setBot": ManagementCall(function("setBot(address bot)"), "owner", "bot"),
    "setCap": ManagementCall(function("setCap(uint256 cap)"), "owner", "amount"),
    "addStrategy": ManagementCall(function("addStrategy(address strategy)"), "owner", "strategy"),
    "removeStrategy": ManagementCall(function("removeStrategy(address strategy)"), "owner", "strategy"),
}
"""By the action's name."""

REBALANCE_CALL = ManagementCall(REBALANCE, "owner or bot")


async def quote_management(
    chain: Chain, block: Block, deployment: Deployment, request: ManageRequest, facts: VaultFacts
) -> Quote:
    """Quotes an action: its calls, simulated as the caller at ``block``.

    Raises ``InvalidRequest`` with reason ``role_required`` (``details.requiredRole``) when the vault refuses
    the caller, and with the request member when it refuses the call.
    """
    if request.action == "rebalance":
        management, calls = REBALANCE_CALL, await _moves(chain, block, deployment, request, facts)
    else:
        management = MANAGEMENT_CALLS[request.action]
        calls = [_arguments(management, deployment, request)]
    role = await _role(chain, block, facts.address, management, request.sender)
    await asyncio.gather(
        *(_simulate(chain, block, management, args, request.sender, facts.address, role) for args in calls)
    )
    return Quote(
        inputs=(),
        outputs=(),
        block=block,
        plan={"calls": calls},
        slippage_bps=request.slippage_bps,
        warnings=(UNAUDITED,),
    )


async def build_management(
    chain: Chain, sealed: SealedQuote, request: ManageRequest, facts: VaultFacts
) -> Build:
    """Returns one transaction per call of the quote."""
    management = REBALANCE_CALL if request.action == "rebalance" else MANAGEMENT_CALLS[request.action]
    role = await _role(chain, await chain.head(), facts.address, management, request.sender)
    steps = (
        Step(facts.address, management.function.encode(args), 0, request.chain_id)
        for args in sealed.plan["calls"]
    )
    return Build(
        steps=tuple(steps),
        spends=(),
        inputs=(),
        outputs=(),
        warnings=(UNAUDITED,),
        terms=ManagementTerms(role),
    )


def _arguments(management: ManagementCall, deployment: Deployment, request: ManageRequest) -> list[Any]:
    match management.argument:
        case None:
            return []
        case "amount":
            return [MAX_UINT256 if request.amount is None else request.amount]
        case "bot":
            if request.bot is None:
                raise refused("bot", Reason.MISSING, f"is needed for {request.action}")
            return [request.bot]
        case "strategy":
            return [_named_strategy(deployment, request)]


def _named_strategy(deployment: Deployment, request: ManageRequest) -> Address:
    """Returns a strategy by its offered id, or any address: the vault itself checks it."""
    if request.strategy is None:
        raise refused("strategy", Reason.MISSING, f"is needed for {request.action}")
    if request.strategy in deployment.strategies:
        return deployment.strategies[request.strategy]
    try:
        return parse_address(request.strategy)
    except ValueError as error:
        known = ", ".join(deployment.strategies) or "none"
        raise refused(
            "strategy", Reason.INVALID_FORMAT, f"must be an address ({error}) or one of: {known}"
        ) from None


async def _moves(
    chain: Chain, block: Block, deployment: Deployment, request: ManageRequest, facts: VaultFacts
) -> list[list[Any]]:
    """Returns the ``rebalance`` calls: idle assets first, then the other strategies in the vault's order."""
    vault = facts.address
    listing, idle, total = await chain.call_many(
        [
            Call(vault, STRATEGIES.encode([])),
            Call(vault, IDLE_ASSETS.encode([])),
            Call(vault, TOTAL_ASSETS.encode([]), gas=READ_GAS),
        ],
        block=block,
    )
    if not isinstance(listing, bytes) or word(total) is None:
        raise UpstreamError("The vault's strategies cannot be read.", reason=Reason.PROVIDER_ERROR)
    (strategies,) = STRATEGIES.decode_output(listing)
    if not strategies:
        raise refused("strategy", Reason.CONFLICT, "the vault has no strategy: add one with addStrategy")
    least = (word(total) or 0) * (10_000 - request.slippage_bps) // 10_000
    sources = {vault: word(idle) or 0}
    target = strategies[0]
    if request.strategy is not None:
        target = _named_strategy(deployment, request)
        if target not in strategies:
            raise refused("strategy", Reason.OUT_OF_RANGE, f"must be one of: {', '.join(strategies)}")
        others = [strategy for strategy in strategies if strategy != target]
        limits = await chain.call_many(
            [Call(each, LIMITS["withdraw"].encode([vault]), gas=READ_GAS) for each in others], block=block
        )
        sources |= {each: word(limit) or 0 for each, limit in zip(others, limits, strict=True)}
    if request.amount is None:
        moves = [[source, target, MAX_UINT256, least] for source, held in sources.items() if held]
    else:
        moves, wanted = [], request.amount
        for source, held in sources.items():
            if taken := min(held, wanted):
                moves.append([source, target, taken, least])
                wanted -= taken
        if wanted:
            raise refused(
                "amount", Reason.AMOUNT_TOO_HIGH, f"only {request.amount - wanted} base units can be moved"
            )
    if not moves:
        raise refused("strategy", Reason.CONFLICT, "there is nothing to move")
    return moves


async def _role(
    chain: Chain, block: Block, vault: Address, management: ManagementCall, caller: Address
) -> RequiredRole:
    """Returns the required role. ``holder`` is the caller if it holds the role, else the owner."""
    owner, bot = (
        None if (value := word(answer)) is None else checksum(f"0x{value:040x}")
        for answer in await chain.call_many(
            [Call(vault, OWNER.encode([])), Call(vault, BOT.encode([]))], block=block
        )
    )
    holders = [
        holder
        for holder in (owner, bot if management.role != "owner" else None)
        if holder not in (None, NATIVE)
    ]
    has_role = caller in holders
    return RequiredRole(management.role, caller if has_role else owner, has_role)


async def _simulate(
    chain: Chain,
    block: Block,
    management: ManagementCall,
    args: Sequence[Any],
    caller: Address,
    vault: Address,
    role: RequiredRole,
) -> None:
    """Simulates the call as the caller. Raises ``InvalidRequest`` or ``UpstreamError`` when the vault
    refuses."""
    try:
        await chain.call(vault, management.function.encode(args), block=block, sender=caller)
    except RpcError as error:
        data = revert_data(error) or b""
        if data[:4] in ROLE_ERRORS:
            message = f"{caller} does not hold the role {role.name!r} of this vault; {role.holder} does"
            raise InvalidRequest(
                f"address: {message}.",
                reason=Reason.ROLE_REQUIRED,
                fields=[FieldError("address", Reason.ROLE_REQUIRED, message)],
                required_role=role,
            ) from None
        if data[:4] in REFUSALS:
            member, message = REFUSALS[data[:4]]
            raise refused(member, Reason.CONFLICT, message) from None
        raise UpstreamError(
            f"The vault would refuse this: {revert_reason(data)}.",
            reason=Reason.REVERTED,
            retryable=False,
            required_role=role,
        ) from None
