"""The sentences that a signer reads: the core's templates, filled from what the calldata means.

No text of a provider is in them. The amounts are those of the build's legs, which the guard has compared with
the calldata.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from quoteway import models
from quoteway.evm.calls.meaning import Meaning, Reading
from quoteway.evm.token_text import display_name
from quoteway.evm.units import readable_units
from quoteway.models import MAX_UINT256, Build, DeployRequest, DescribedStep, Leg, Step, SwapRequest, Token

_VERBS = {
    "swap": "Swap",
    "transfer": "Send to another network",
    "add": "Add liquidity",
    "remove": "Remove liquidity",
    "collect": "Collect fees",
    "deploy": "Deploy a vault",
}


def described(
    step: Step, reading: Reading, request: models.Request, build: Build, label: str | None
) -> DescribedStep:
    """Returns a provider's step with what it does, in words. ``label`` names its target."""
    action = reading.meaning.action
    verb = _VERBS.get(action, action[0].upper() + action[1:])
    return DescribedStep(
        step.to,
        step.data,
        step.value,
        step.chain_id,
        kind=action,
        decoded=reading.decoded,
        description=f"{verb} through {label or step.to}",
        intent=_intent(step, reading.meaning, request, build),
        target_label=label,
        descriptor=reading.descriptor,
    )


def amount_text(token: Token, amount: int) -> str:
    """Returns an amount of base units as people read it, such as ``1,500.25 USDC``."""
    return f"{readable_units(amount, token.decimals)} {display_name(token)}"


def until_text(deadline: int) -> str:
    """Returns a Unix time as UTC text."""
    return datetime.fromtimestamp(deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _intent(step: Step, meaning: Meaning, request: models.Request, build: Build) -> str:
    until = "" if meaning.deadline is None else f", before {until_text(meaning.deadline)}"
    match meaning.action:
        case "swap" | "transfer":
            return _exchange(request, build) + _fees(meaning, build) + _refund(meaning) + until
        case "add" | "remove" | "collect":
            return _liquidity(meaning, build) + until
        case "deposit" | "mint" | "withdraw" | "redeem":
            return _vault(meaning.action, step, build)
        case "deploy":
            assert isinstance(request, DeployRequest)
            return f"Deploy a managed vault through {step.to}, owned by {request.owner}"
        case "rebalance":
            source, target, assets = (meaning.members[name] for name in ("source", "strategy", "assets"))
            amount = "all assets" if assets == MAX_UINT256 else f"{assets} base units"
            return f"Move {amount} of managed vault {step.to} from {source} to {target}"
    values = ["no limit" if value == MAX_UINT256 else str(value) for value in meaning.members.values()]
    return f"Call {meaning.action}({', '.join(values)}) on managed vault {step.to}"


def _exchange(request: models.Request, build: Build) -> str:
    sold, got = _amounts(build.inputs), _minimums(build.outputs)
    to = _accounts(build.outputs)
    if isinstance(request, SwapRequest) and request.is_cross_chain:
        return f"Send exactly {sold} to chain {request.to_chain_id} for at least {got}, paid to {to}"
    if isinstance(request, SwapRequest) and request.amount_out is not None:
        return f"Swap at most {_most(build.inputs)} for {_exactly(build.outputs)}, sent to {to}"
    if all(leg.amount == leg.amount_min for leg in build.outputs):
        return f"Exchange exactly {sold} for exactly {got}, sent to {to}"
    return f"Swap exactly {sold} for at least {got}, sent to {to}"


def _fees(meaning: Meaning, build: Build) -> str:
    """Tells who gets which share of what is bought, or how much of what is sold, by the calldata.

    The minimums are after it, and the maximums have it in them.
    """
    names = {leg.token.address: display_name(leg.token) for leg in build.outputs}
    sold = {leg.token.address: leg.token for leg in build.inputs}
    shares = "".join(
        f", after a fee of {readable_units(portion.bps, 2)} % of all {names[portion.token]} bought, "
        f"sent to {portion.recipient}"
        for portion in meaning.portions
    )
    return shares + "".join(
        f", of which {amount_text(sold[each.token], each.amount)} is a fee, sent to {each.recipient}"
        for each in meaning.transfers
    )


def _refund(meaning: Meaning) -> str:
    return "" if meaning.refund is None else f", or returned to {meaning.refund}"


def _liquidity(meaning: Meaning, build: Build) -> str:
    to = f", sent to {_accounts(build.outputs)}" if build.outputs else ""
    got = _minimums(build.outputs)
    if meaning.action == "add":
        return f"Add up to {_most(build.inputs)} as liquidity{f' for at least {got}' if got else ''}{to}"
    verb = "Remove liquidity" if meaning.action == "remove" else "Collect fees"
    return f"{verb} for at least {got or 'nothing'}{to}"


def _vault(action: str, step: Step, build: Build) -> str:
    """The standard has no limit on what comes back: the sentence says so."""
    paid, got, to = _amounts(build.inputs), _amounts(build.outputs), _accounts(build.outputs)
    end = f"{to}; the vault enforces no limit"
    match action:
        case "deposit":
            return f"Deposit exactly {paid} into vault {step.to} for about {got}, to {end}"
        case "mint":
            return f"Mint exactly {got} of vault {step.to} for at most {_most(build.inputs)}, to {to}"
        case "withdraw":
            return f"Withdraw exactly {got} from vault {step.to} for about {paid}, to {end}"
    return f"Redeem exactly {paid} of vault {step.to} for about {got}, to {end}"


def _amounts(legs: Iterable[Leg]) -> str:
    return " and ".join(amount_text(leg.token, leg.amount) for leg in legs)


def _most(legs: Iterable[Leg]) -> str:
    return " and ".join(amount_text(leg.token, leg.most) for leg in legs)


def _minimums(legs: Iterable[Leg]) -> str:
    return " and ".join(amount_text(leg.token, leg.amount_min or 0) for leg in legs)


def _exactly(legs: Iterable[Leg]) -> str:
    """A pool that rounds its input up may pay some units more than the amount asked for."""
    legs = list(legs)
    exact = all(leg.amount == leg.amount_min for leg in legs)
    return f"{'exactly' if exact else 'at least'} {_minimums(legs)}"


def _accounts(legs: Iterable[Leg]) -> str:
    return " and ".join(dict.fromkeys(leg.account for leg in legs))
