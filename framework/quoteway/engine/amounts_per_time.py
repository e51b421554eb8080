"""Holds what actions take against the amounts per time of a custody policy.

An action counts from its making until its window after its end has passed: its end is the latest of its
expiry and deadline. It stops counting earlier only when the chain proves that it was not and cannot be
executed: its one transaction, whose calldata has the deadline, is past it, and every nonce that the wallet
used since then belongs to another transaction, or to one that was reverted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from quoteway import models
from quoteway.engine.held_amounts import Held, HeldAmounts, Hold, StoreUnavailable
from quoteway.errors import GatewayError
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.answers import quantity
from quoteway.evm.chain import RpcChain
from quoteway.guard.policy_amounts import Charge, exceeded
from quoteway.host.runtime import Runtime

log = logging.getLogger("quoteway.engine.amounts_per_time")

_SURE_AFTER_S: Final = 180
"""How far the chain's time must be past a deadline: a reorganisation could bring older blocks back."""
_MOST_TRIED: Final = 16
"""How many actions of one counter are looked at in one request."""
_MOST_NONCES: Final = 16
"""How many transactions of a wallet are read for one action."""

UNDECIDED = models.Violation("amounts_per_time", "the store of what counts as used cannot be used now")


@dataclass(frozen=True, slots=True)
class AmountsPerTime:
    """The amounts per time of one gateway. ``longest_s`` is the longest window of its policy."""

    held: HeldAmounts
    runtime: Runtime
    longest_s: int

    async def violations(
        self, action: models.Action, charges: Sequence[Charge]
    ) -> tuple[models.Violation, ...]:
        """Returns which limits an action exceeds; none when its amounts are held now.

        Raises ``StoreUnavailable`` when it cannot be decided.
        """
        if not charges:
            return ()
        holds = [Hold(each.counter, each.amount, each.most, each.limit.window_s) for each in charges]
        ends_at = max(action.expires_at, action.deadline or 0)
        left_s = max(0, ends_at - int(self.runtime.now()))
        note = await self._note(action)
        answer = await self.held.hold(action.action_id, left_s, note, holds)
        if not answer.is_held and await self._release_unused(charges):
            answer = await self.held.hold(action.action_id, left_s, note, holds)
        if answer.is_held:
            return ()
        found = (exceeded(charge, used) for charge, used in zip(charges, answer.used, strict=True))
        over = tuple(each for each in found if each is not None)
        return over or (models.Violation("amounts_per_time", "too many actions count against its limits"),)

    async def tell(self, chain_id: int, found: Mapping[str, Any], tx_hash: str) -> None:
        """Notes a mined transaction that a caller reported, as the chain has it.

        It lets an action that was not executed stop counting. Nothing is lost but that when it fails.
        """
        with contextlib.suppress(LookupError, ValueError, TypeError, AttributeError, GatewayError):
            account = _account(chain_id, checksum(found["from"]))
            nonce = quantity(found["nonce"])
            with contextlib.suppress(StoreUnavailable):  # it is in the log
                await self.held.tell(account, nonce, tx_hash, 2 * self.longest_s + 86_400)

    async def _note(self, action: models.Action) -> bytes:
        """Returns what can prove later that an action was not executed; nothing where nothing can."""
        own = [step for step in action.steps if step.approval is None]
        if len(own) != 1 or len(action.parts) != 1 or action.signatures or action.deadline is None:
            return b""
        chain = self.runtime.chain(action.chain_id)
        try:
            nonce, code = await asyncio.gather(
                chain.request("eth_getTransactionCount", [action.sender, "latest"], shared=False),
                chain.request("eth_getCode", [action.sender, "latest"], shared=False),
            )
            if code != "0x":  # others may send its transactions: its nonce says nothing
                return b""
            first = quantity(nonce)
        except GatewayError:
            return b""
        (step,) = own
        digest = _digest(step.to, step.value, step.data)
        return orjson.dumps([action.chain_id, action.sender, first, action.deadline, digest])

    # --- what was not executed ------------------------------------------------------------------------------

    async def _release_unused(self, charges: Sequence[Charge]) -> bool:
        """Releases the actions that the chain proves unused. Returns whether there were any."""
        released = False
        for counter in dict.fromkeys(charge.counter for charge in charges):
            tried = 0
            for held in sorted(await self.held.held(counter), key=lambda each: -each.amount):
                if not held.note or tried >= _MOST_TRIED:
                    continue
                tried += 1
                if await self._is_unused(held):
                    released |= await self.held.release(counter, held)
        return released

    async def _is_unused(self, held: Held) -> bool:
        chain_id, sender, first, deadline, digest = orjson.loads(held.note)
        try:
            chain = self.runtime.chain(chain_id)
            block = await chain.head()
            if block.timestamp <= deadline + _SURE_AFTER_S:
                return False
            count = await chain.pinned("eth_getTransactionCount", [sender], block)
            used = range(first, quantity(count))
            if quantity(count) < first or len(used) > _MOST_NONCES:
                return False
            hashes = await self.held.told(_account(chain_id, sender), used)
            if len(hashes) != len(used):
                return False
            others = [self._is_other(chain, block, sender, nonce, hashes[nonce], digest) for nonce in used]
            return all(await asyncio.gather(*others))
        except (GatewayError, LookupError, ValueError, TypeError, AttributeError):
            return False

    @staticmethod
    async def _is_other(
        chain: RpcChain, block: models.Block, sender: models.Address, nonce: int, tx_hash: str, digest: str
    ) -> bool:
        """Returns whether a transaction used a nonce of a wallet for something else than an action's step."""
        found, receipt = await asyncio.gather(
            chain.request("eth_getTransactionByHash", [tx_hash], shared=False),
            chain.request("eth_getTransactionReceipt", [tx_hash], shared=False),
        )
        if checksum(found["from"]) != sender or quantity(found["nonce"]) != nonce:
            return False
        if quantity(receipt["blockNumber"]) > block.number:
            return False
        if quantity(receipt["status"]) == 0:
            return True
        sent = _digest(found["to"], quantity(found["value"]), bytes.fromhex(found["input"][2:]))
        return bool(sent != digest)


def _digest(to: str | None, value: int, data: bytes) -> str:
    target = b"" if to is None else bytes.fromhex(to[2:])
    return keccak256(target + value.to_bytes(32) + data).hex()


def _account(chain_id: int, address: models.Address) -> str:
    return f"{chain_id}/{address}"
