"""Compares what an action's transactions do with what the action says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from quoteway import NATIVE, Capability, ManageRequest, PoolRequest, SwapRequest, VaultRequest
from quoteway.evm.abi import decode, event_topic
from quoteway.evm.address import ERC7528_NATIVE, checksum
from quoteway.models import (
    APPROVAL_KINDS,
    Action,
    DeploymentTerms,
    Leg,
    TransferTracking,
)

from corrupting.chains import CHAIN_ID, World
from corrupting.executing import Log, Machine, Ran
from corrupting.material import Material

_DEPOSITED = event_topic(
    "FundsDeposited(bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,uint32,bytes32,bytes32,"
    "bytes32,bytes)"
)
_DEPOSITED_DATA = (
    *("bytes32", "bytes32", "uint256", "uint256", "uint32", "uint32", "uint32"),
    *("bytes32", "bytes32", "bytes"),
)
_LIQUIDITY_EVENTS = {
    event_topic("Mint(address,uint256,uint256)"),  # v2
    event_topic("Burn(address,uint256,uint256,address)"),
    event_topic("Mint(address,address,int24,int24,uint128,uint256,uint256)"),  # v3
    event_topic("Burn(address,int24,int24,uint128,uint256,uint256)"),
    event_topic("IncreaseLiquidity(uint256,uint128,uint256,uint256)"),
    event_topic("DecreaseLiquidity(uint256,uint128,uint256,uint256)"),
    event_topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)"),  # v4
}
_AMOUNT = re.compile(
    r"(exactly|at least|at most|up to) ([\d,]+(?:\.\d+)?) (\S+)(?: \(0x[0-9a-fA-F]{40}\))?"
    r"((?: and [\d,]+(?:\.\d+)? \S+(?: \(0x[0-9a-fA-F]{40}\))?)*)"
)
_MORE = re.compile(r" and ([\d,]+(?:\.\d+)?) (\S+)(?: \(0x[0-9a-fA-F]{40}\))?")
_PAID_TO = re.compile(r"(?:sent to|paid to|, to) ((?:0x[0-9a-fA-F]{40}(?: and )?)+)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``harm``: what the chain does worse than the action says. ``overstated``: an expected amount that is
    more than what arrives, though its minimum is kept."""

    harm: tuple[str, ...]
    overstated: bool = False


class Oracle:
    """Judges the actions that the core gave."""

    def __init__(self, world: World) -> None:
        self.world, self.machine = world, Machine(world)
        self._honest: dict[str, Ran] = {}

    def judge(self, material: Material, action: Action) -> Verdict:
        """Runs an action as it is, after the price has moved either way, and after its deadline."""
        honest = self._honest.get(material.name)
        if honest is None:
            honest = self._honest[material.name] = self.machine.run(material.action)
        ran = self.machine.run(action)
        harm = [*self._wrong(material, action, ran), *self._names(action), *_terms(material, action, ran)]
        if ran.reverted is not None:
            harm.append(f"step {ran.reverted} reverts: {ran.revert_data.hex()[:200]}")
        elif not harm:
            harm += self._other_effect(material, honest, ran)
        for move in material.moves:
            moved = self.machine.run(action, [move])
            harm += [f"after the price moved: {each}" for each in self._wrong(material, action, moved)]
        # Of a transfer only the last moment of the payment is in its calldata.
        ends = material.action.deadline or 0
        bound = "deadline_not_enforced" not in {notice.code for notice in action.warnings}
        bound = bound and (action.deadline or 0) >= (ends if _crosses(material.request) else 0)
        if action.deadline is not None and bound and self.machine.run(action, late=True).reverted is None:
            harm.append("runs after its deadline")
        own = [leg for leg in action.outputs if leg.token.chain_id == CHAIN_ID]
        over = any(_got(ran, action, leg) < leg.amount for leg in own) if ran.reverted is None else False
        return Verdict(tuple(dict.fromkeys(harm)), over)

    # --- amounts --------------------------------------------------------------------------------------------

    def _wrong(self, material: Material, action: Action, ran: Ran) -> Iterator[str]:
        """Yields what contradicts the action, also in a run that reverts at some step."""
        sender, done = action.sender, ran.reverted is None
        payees = {leg.account for leg in action.outputs if leg.token.chain_id == CHAIN_ID} | {sender}
        asked = _asked_payees(material.request)
        if not payees <= asked | {sender}:
            yield f"it says that it pays {payees - asked}"
        payees |= asked
        most: Counter[str] = Counter()
        for leg in action.inputs:
            most[leg.token.address] += leg.most
        for (account, token), delta in ran.deltas.items():
            if account == sender and -delta > most[token]:
                yield f"takes {-delta} of {token}, says at most {most[token]}"
            elif account != sender and account not in payees:
                yield f"{account} gets {delta} of {token}"
        for (account, token), flow in ran.flows.items():
            if account == sender and flow < 0 and -flow > most[token]:
                yield f"moves {-flow} of {token}"
            elif flow > 0 and account not in payees | self.machine.known:
                yield f"pays {flow} of {token} to {account}"
        for key, (before, after) in ran.allowances.items():
            spare = sum(
                leg.most - (leg.amount if leg.amount_min is None else leg.amount_min)
                for leg in action.inputs
                if leg.token.address == key[0]
            )
            allowed = before if done else max(before, most[key[0]])
            if key[1] not in self.machine.known and after:
                yield f"{key[1]} may take {after} of {key[0]}"
            elif after > max(allowed, spare):
                yield f"leaves an allowance of {after} of {key[0]} to {key[1]}"
        if not done:
            return
        for leg in action.outputs:
            least = leg.amount_min or 0
            if leg.token.chain_id != CHAIN_ID:
                yield from self._deposit(material, action, leg, ran.logs)
            elif _got(ran, action, leg) < least and material.capability is not Capability.VAULT:
                yield f"pays {_got(ran, action, leg)} of {leg.token.address}, says at least {least}"
        yield from self._sentences(material, action, ran)
        yield from _fee(material, action, ran)

    def _deposit(self, material: Material, action: Action, leg: Leg, logs: tuple[Log, ...]) -> Iterator[str]:
        """Compares what the SpokePool tells the relayers with the leg on the other chain."""
        found = [log for log in logs if log.topics and log.topics[0] == _DEPOSITED]
        pool = self.world.manifest.contracts["SpokePool"]
        if len(found) != 1 or found[0].address != pool:
            yield f"{len(found)} deposits"
            return
        (log,) = found
        _, token, _, amount, _, _, _, recipient, _, message = decode(_DEPOSITED_DATA, log.data)
        forms = {leg.token.address}
        if leg.token.is_native:
            forms = {NATIVE, ERC7528_NATIVE, self.world.far.contracts["WETH9"]}
        if _account(token) not in forms:
            yield f"another token arrives: {_account(token)}"
        if amount < (leg.amount_min or 0):
            yield f"{amount} arrive, says at least {leg.amount_min}"
        if _account(recipient) != leg.account or leg.account != material.request.recipient:
            yield f"{_account(recipient)} is paid"
        if int(log.topics[1], 16) != leg.token.chain_id:
            yield "it arrives on another chain"
        if checksum("0x" + log.topics[3][-40:]) != material.request.refund_account:
            yield "another account is refunded"
        if message:
            yield "it calls the recipient"

    def _names(self, action: Action) -> Iterator[str]:
        """Compares tokens and terms of the answer with the chain's."""
        for leg in (*action.inputs, *action.outputs):
            known = self.world.names.get((leg.token.chain_id, leg.token.address))
            if known is not None and known != (leg.token.decimals, leg.token.symbol):
                yield f"it calls {leg.token.address} {leg.token.symbol}, of {leg.token.decimals} decimals"

    # --- words ----------------------------------------------------------------------------------------------

    def _sentences(self, material: Material, action: Action, ran: Ran) -> Iterator[str]:
        """Compares the amounts and accounts in the sentences with what moved."""
        payees = {leg.account for leg in action.outputs} | {action.sender} | _paid_fees(material.request)
        for step in action.steps:
            if step.kind in APPROVAL_KINDS or len(action.parts) > 1:
                continue
            for account in " ".join(_PAID_TO.findall(step.intent)).replace(" and ", " ").split():
                if account not in payees:
                    yield f"its sentence names {account}"
            for word, amount, symbol, more in _AMOUNT.findall(step.intent):
                for number, name in [(amount, symbol), *_MORE.findall(more)]:
                    yield from self._said(action, ran, word, number, name.strip('",;'))

    def _said(self, action: Action, ran: Ran, word: str, number: str, symbol: str) -> Iterator[str]:
        token = self.world.tokens.get(symbol)
        if token is None:
            return
        units = Fraction(number.replace(",", "")) * 10**token.decimals
        gained = [
            ran.deltas[leg.account, token.address]
            for leg in action.outputs
            if leg.token.address == token.address and leg.token.chain_id == CHAIN_ID
        ]
        taken = -ran.deltas[action.sender, token.address]
        crossing = any(leg.token.chain_id != CHAIN_ID for leg in action.outputs)
        paid = [leg for leg in action.inputs if leg.token.address == token.address]
        less = min(gained) < units if gained and not paid else taken > units
        if word == "exactly" and less:
            yield f"its sentence says {word} {number} {symbol}"
        elif word == "at least" and not crossing and gained:
            least = min(gained) + sum(leg.most for leg in action.inputs if leg.token.address == token.address)
            if least < units:
                yield f"its sentence says {word} {number} {symbol}"
        elif word in ("at most", "up to") and taken > units:
            yield f"its sentence says {word} {number} {symbol}"

    # --- other effects --------------------------------------------------------------------------------------

    def _other_effect(self, material: Material, honest: Ran, ran: Ran) -> Iterator[str]:
        """Compares what is no balance with the honest action: positions, and what management changed."""
        if isinstance(material.request, ManageRequest):
            if set(honest.logs) != set(ran.logs):
                yield "it does something else to the vault"
        elif isinstance(material.request, PoolRequest):
            own, others = (
                [log for log in each.logs if log.topics and log.topics[0] in _LIQUIDITY_EVENTS]
                for each in (ran, honest)
            )
            if _places(own) != _places(others):
                yield "it changes another position"
            elif _less_liquidity(material, ran, honest, _liquidity(own), _liquidity(others)):
                yield "it adds less liquidity"


def _terms(material: Material, action: Action, ran: Ran) -> Iterator[str]:
    said, true = action.terms, material.action.terms
    if isinstance(true, DeploymentTerms) and isinstance(said, DeploymentTerms):
        ends = [(each.factory, each.asset, each.owner, each.bot, each.strategy) for each in (said, true)]
        if ends[0] != ends[1] or said.predicted_address not in {log.address for log in ran.logs}:
            yield f"it says another deployment, at {said.predicted_address}"
    elif isinstance(true, TransferTracking) and isinstance(said, TransferTracking):
        ends = [
            (each.origin_chain_id, each.destination_chain_id, each.refund_address or action.sender)
            for each in (said, true)
        ]
        if ends[0] != ends[1]:
            yield "it says another transfer"


def _got(ran: Ran, action: Action, leg: Leg) -> int:
    """Returns what an account got of a token. The balance shows the difference, where it also pays it."""
    paid = sum(
        each.most
        for each in action.inputs
        if (each.token.address, each.account) == (leg.token.address, leg.account)
    )
    return ran.deltas[leg.account, leg.token.address] + paid


def _crosses(request: object) -> bool:
    return isinstance(request, SwapRequest) and request.is_cross_chain


def _asked_payees(request: object) -> set[str]:
    if isinstance(request, SwapRequest | PoolRequest | VaultRequest):
        return {request.recipient} | _paid_fees(request)
    return set()


def _paid_fees(request: object) -> set[str]:
    return {request.fee.recipient} if isinstance(request, SwapRequest) and request.fee else set()


def _fee(material: Material, action: Action, ran: Ran) -> Iterator[str]:
    """Compares the fee with its share of what is bought."""
    request = material.request
    if not isinstance(request, SwapRequest) or request.fee is None:
        return
    (leg,) = action.outputs
    taken = ran.deltas[request.fee.recipient, request.token_out.address]
    due = request.fee.of(_got(ran, action, leg) + taken)
    if taken != due:
        yield f"the fee is {taken}, not {due}"


def _account(word: bytes) -> str:
    return checksum("0x" + word[12:].hex())


def _places(logs: list[Log]) -> set[tuple[str, ...]]:
    """Returns where liquidity was changed: the pool, its ticks and the position."""
    found = []
    for log in logs:
        ticks = log.data[:64].hex() if log.topics[0] == _MODIFY else ""
        ticks += log.data[-32:].hex() if log.topics[0] == _MODIFY else ""
        found.append((log.address, *log.topics, ticks))
    return set(found)


_MODIFY = event_topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
_MINT_V2 = event_topic("Mint(address,uint256,uint256)")
_MINT_V3 = event_topic("Mint(address,address,int24,int24,uint128,uint256,uint256)")


def _less_liquidity(material: Material, ran: Ran, honest: Ran, mine: int, true: int) -> bool:
    """Whether a position has less afterwards than it should, for no less in and no more out.

    A removal pays what it takes, so it may take as much more as the guard lets it pay: no calldata bounds it.
    """
    if material.request.action == "remove":
        return (true - mine) * 10_000 > abs(true) * max(material.request.slippage_bps, 50)
    paid_no_less = all(ran.deltas[place] <= delta for place, delta in honest.deltas.items() if delta < 0)
    return mine < true and paid_no_less


def _liquidity(logs: list[Log]) -> int:
    """Returns how much liquidity was added; on v2 the shares are a leg."""
    total = 0
    for log in logs:
        if log.topics[0] == _MODIFY:
            total += int.from_bytes(log.data[64:96], signed=True)
        elif log.topics[0] == _MINT_V3:
            total += int.from_bytes(log.data[32:64])
    return total
