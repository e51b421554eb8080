"""Quotes, and what is in them, as wire shapes: one function per shape, and no other place that knows its
member names (``action_rendering`` has those of actions, ``entries`` those of lists).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from quoteway.models import (
    Approval,
    Attempt,
    Block,
    Capability,
    DeployRequest,
    Fee,
    Gas,
    Hop,
    Issue,
    Leg,
    Notice,
    PoolRequest,
    Quote,
    Request,
    RoutePath,
    SealedQuote,
    SwapRequest,
    Token,
    VaultRequest,
)
from quoteway.web.http.envelope import render_attempt

if TYPE_CHECKING:
    from quoteway.networks import Networks

Wire = dict[str, Any]

_PRICE = Context(prec=18)
_LINK = re.compile(r"(?:https?|ipfs|ipns|ar)://[\x21-\x7e]", re.IGNORECASE)


def timestamp(unix_s: int) -> str:
    """RFC 3339 in UTC."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def amount(value: int | None) -> str | None:
    """Base units as a decimal string."""
    return None if value is None else str(value)


def link(text: str | None) -> str | None:
    """An address that a page may load or lead to; nothing that a browser would run."""
    return text if text is not None and _LINK.match(text) else None


def slug(networks: Networks, chain_id: int) -> str:
    """The network's name; its CAIP-2 id for a chain this deployment does not name."""
    network = networks.by_chain_id(chain_id)
    return network.slug if network else f"eip155:{chain_id}"


# --- tokens, legs, fees -----------------------------------------------------------------------------------


def token_ref(token: Token, networks: Networks) -> Wire:
    return {
        "address": token.address,
        "chainId": token.chain_id,
        "network": slug(networks, token.chain_id),
        "symbol": token.symbol,
        "name": token.name,
        "decimals": token.decimals,
        "isNative": token.is_native,
        "logoUri": link(token.logo_uri),
        "priceUsd": token.price_usd,
    }


def leg(item: Leg, networks: Networks) -> Wire:
    return {
        "token": token_ref(item.token, networks),
        "amount": str(item.amount),
        "amountMin": amount(item.amount_min),
        "amountMax": amount(item.amount_max),
        "amountUsd": item.amount_usd,
        "account": item.account,
    }


def legs(items: Iterable[Leg], networks: Networks) -> list[Wire]:
    return [leg(item, networks) for item in items]


def fee(item: Fee, networks: Networks) -> Wire:
    return {
        "name": item.name,
        "kind": item.kind,
        "token": token_ref(item.token, networks),
        "amount": str(item.amount),
        "amountUsd": item.amount_usd,
        "bps": item.bps,
        "included": item.included,
    }


def gas(item: Gas | None) -> Wire | None:
    if item is None:
        return None
    return {
        "units": str(item.units),
        "limit": str(item.limit),
        "maxFeePerGas": amount(item.max_fee_per_gas_wei),
        "l1Fee": amount(item.l1_fee_wei),
        "cost": amount(item.cost_wei),
        "costUsd": item.cost_usd,
    }


def approval(item: Approval) -> Wire:
    return {
        "token": item.token,
        "spender": item.spender,
        "required": str(item.required),
        "current": amount(item.current),
        "needed": item.needed,
        "needsReset": item.needs_reset,
    }


def issue(item: Issue) -> Wire:
    return {
        "code": item.code,
        "token": item.token,
        "actual": amount(item.actual),
        "required": amount(item.required),
    }


def notice(item: Notice) -> Wire:
    return {"code": item.code, "message": item.message}


def block(item: Block) -> Wire:
    return {"number": item.number, "hash": item.hash, "timestamp": item.timestamp}


# --- quotes -----------------------------------------------------------------------------------------------


def route(paths: Sequence[RoutePath] | None) -> Wire | None:
    if paths is None:
        return None
    return {"paths": [{"bps": path.bps, "hops": [_hop(hop) for hop in path.hops]} for path in paths]}


def _hop(hop: Hop) -> Wire:
    return {
        "provider": hop.provider,
        "protocol": hop.protocol,
        "pool": hop.pool,
        "tokenIn": hop.token_in,
        "tokenOut": hop.token_out,
        "amountIn": str(hop.amount_in),
        "amountOut": str(hop.amount_out),
        "feeBps": hop.fee_bps,
    }


def request_echo(request: Request, networks: Networks) -> Wire:
    """The request as it was understood: networks by name, addresses in EIP-55, defaults filled in."""
    match request:
        case SwapRequest():
            return {
                "fromChain": slug(networks, request.chain_id),
                "toChain": slug(networks, request.to_chain_id),
                "fromToken": request.token_in.address,
                "toToken": request.token_out.address,
                "amount": str(request.amount_in),
                "address": request.sender,
                "toAddress": request.recipient,
                "refundAddress": request.refund_account if request.is_cross_chain else None,
                "slippageBps": request.slippage_bps,
                "approvalMode": "permit2-signature" if request.permit2_signature else "transactions",
            }
        case PoolRequest():
            return {
                "poolId": request.pool_id,
                "action": request.action,
                "asset": request.asset,
                "amount": "max" if request.amount is None else str(request.amount),
                "address": request.sender,
                "recipient": request.recipient,
                "slippageBps": request.slippage_bps,
                "tickLower": request.tick_lower,
                "tickUpper": request.tick_upper,
                "positionId": request.position_id,
                "useNative": request.use_native,
            }
        case VaultRequest():
            return {
                "vaultId": request.vault_id,
                "action": request.action,
                "asset": request.asset,
                "amount": amount(request.amount),
                "address": request.sender,
                "recipient": request.recipient,
                "slippageBps": request.slippage_bps,
                "strategy": request.strategy,
                "bot": request.bot,
            }
        case DeployRequest():
            return {
                "network": slug(networks, request.chain_id),
                "asset": request.asset,
                "owner": request.owner,
                "strategy": request.strategy,
                "bot": request.bot,
            }


def sealed_quote(sealed: SealedQuote, networks: Networks, *, now: int) -> Wire:
    """The Quote object as far as its token holds it; every other member is null."""
    chain_id = sealed.request.chain_id
    wire: Wire = {
        "quoteId": sealed.token,
        "kind": sealed.capability.value,
        "status": "active" if now < sealed.expires_at else "expired",
        "provider": sealed.provider,
        "network": slug(networks, chain_id),
        "chainId": chain_id,
        "createdAt": timestamp(sealed.created_at),
        "expiresAt": timestamp(sealed.expires_at),
        "expiresIn": max(0, sealed.expires_at - now),
        "request": request_echo(sealed.request, networks),
        "inputs": legs(sealed.inputs, networks),
        "outputs": legs(sealed.outputs, networks),
        "slippageBps": sealed.slippage_bps,
        "deadline": None,
        "priceImpactBps": None,
        "fees": None,
        "gas": None,
        "approvals": None,
        "issues": None,
        "route": None,
        "block": block(sealed.block),
        "simulation": None,
        "warnings": None,
        "attempts": None,
    }
    if sealed.capability is Capability.SWAP:
        wire |= _flat_swap(sealed.inputs, sealed.outputs, networks)
        wire["parts"] = [_quote_part(part, networks) for part in sealed.parts] or None
    return wire


def _quote_part(part: SealedQuote, networks: Networks) -> Wire:
    return {
        "kind": part.capability.value,
        "provider": part.provider,
        "inputs": legs(part.inputs, networks),
        "outputs": legs(part.outputs, networks),
    }


def quote(
    sealed: SealedQuote,
    quoted: Quote,
    approvals: Sequence[Approval],
    issues: Sequence[Issue],
    attempts: Sequence[Attempt],
    networks: Networks,
    *,
    now: int,
    deadline_s: int,
) -> Wire:
    """The whole Quote object of a fresh quote."""
    warnings = list(quoted.warnings)
    if quoted.slippage_bps > 300:
        warnings.append(Notice("high_slippage", "The allowed slippage is above 3 %."))
    wire = sealed_quote(sealed, networks, now=now) | {
        # What the provider measured, where the token holds only what consent needs.
        "inputs": legs(quoted.inputs, networks),
        "outputs": legs(quoted.outputs, networks),
        **(
            _flat_swap(quoted.inputs, quoted.outputs, networks)
            if sealed.capability is Capability.SWAP
            else {}
        ),
        "deadline": sealed.created_at + deadline_s,
        "priceImpactBps": quoted.price_impact_bps,
        "fees": [fee(item, networks) for item in quoted.fees],
        "gas": gas(quoted.gas),
        "approvals": [approval(item) for item in approvals],
        "issues": [issue(item) for item in issues],
        "route": route(quoted.route),
        "warnings": [notice(item) for item in warnings],
        "attempts": [render_attempt(item) for item in attempts],
    }
    return beside(wire, quoted.details, networks)


def _flat_swap(inputs: Sequence[Leg], outputs: Sequence[Leg], networks: Networks) -> Wire:
    sold, bought = inputs[0], outputs[0]
    return {
        "fromToken": token_ref(sold.token, networks),
        "toToken": token_ref(bought.token, networks),
        "fromAmount": str(sold.amount),
        "toAmount": str(bought.amount),
        "toAmountMin": amount(bought.amount_min),
        "fromAmountUsd": sold.amount_usd,
        "toAmountUsd": bought.amount_usd,
        "executionPrice": _price(sold, bought),
    }


def _price(sold: Leg, bought: Leg) -> str | None:
    """Whole output coins per whole input coin, to 18 significant digits; a decimal string, never a float."""
    if sold.amount == 0:
        return None
    given = Decimal(sold.amount).scaleb(-sold.token.decimals, _PRICE)
    got = Decimal(bought.amount).scaleb(-bought.token.decimals, _PRICE)
    text = format(_PRICE.divide(got, given), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def beside(wire: Wire, members: Mapping[str, Any], networks: Networks) -> Wire:
    """The members that were checked, and a provider's own beside them: none takes the place of one that was
    checked (``transactions``, ``outputs``).
    """
    return wire | {name: member for name, member in details(members, networks).items() if name not in wire}


def details(members: Mapping[str, Any], networks: Networks) -> Wire:
    """A provider's own members: in wire form already, but for the tokens and legs in them."""
    return {name: _detail(value, networks) for name, value in members.items()}


def _detail(value: Any, networks: Networks) -> Any:
    if isinstance(value, Token):
        return token_ref(value, networks)
    if isinstance(value, Leg):
        return leg(value, networks)
    if isinstance(value, Mapping):
        return details(value, networks)
    if isinstance(value, list | tuple):
        return [_detail(item, networks) for item in value]
    return value
