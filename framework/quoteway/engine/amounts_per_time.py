"""Holds what actions take against the amounts per time of a custody policy.

An action counts from its making until its window after its end has passed: its end is the latest of its
expiry and deadline. It stops counting earlier only when the chain proves how it ended, and only where its one
transaction has the deadline in its calldata:

- It was not and cannot be executed: the chain is past the deadline, and every nonce that the wallet used
  since then belongs to another transaction, or to one that was reverted. It counts no more.
- It was executed: a reported transaction that no other action claims did so, in a block that no
  reorganisation takes away. It counts until its window after that block.

An action without such a deadline may be executed later than it counts: see ``late_executions``.
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
from quoteway.engine.late_executions import LateExecutions, name_of
from quoteway.engine.quote_tokens import TransactionCommitment
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

_UNUSED: Final = -1

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
        name = name_of(action)
        answer = await self.held.hold(name, left_s, note, holds)
        if not answer.is_held and await self._settle(charges):
            answer = await self.held.hold(name, left_s, note, holds)
        if answer.is_held:
            await self._late.issued(action, holds)
            return ()
        found = (exceeded(charge, used) for charge, used in zip(charges, answer.used, strict=True))
        over = tuple(each for each in found if each is not None)
        return over or (models.Violation("amounts_per_time", "too many actions count against its limits"),)

    @property
    def _late(self) -> LateExecutions:
        return LateExecutions(self.held, self.runtime, self.longest_s)

    async def executed(self, commitment: TransactionCommitment, tx_hash: str, number: int) -> None:
        """Counts a transaction of an action that a caller reported, in the block ``number`` of the chain.

        Raises nothing: where the store or the nodes do not answer, it counts when it is reported again.
        """
        with contextlib.suppress(StoreUnavailable, GatewayError):  # the first is in the log
            await self._late.executed(commitment, tx_hash, number)

    async def tell(self, chain_id: int, found: Mapping[str, Any], tx_hash: str) -> None:
        """Notes a mined transaction that a caller reported, as the chain has it.

        It lets actions stop counting earlier. Nothing is lost but that when it fails.
        """
        with contextlib.suppress(LookupError, ValueError, TypeError, AttributeError, GatewayError):
            account = _account(chain_id, checksum(found["from"]))
            nonce = quantity(found["nonce"])
            with contextlib.suppress(StoreUnavailable):  # it is in the log
                await self.held.tell(account, nonce, tx_hash, self._keep_s)

    @property
    def _keep_s(self) -> int:
        return 2 * self.longest_s + 86_400

    async def _note(self, action: models.Action) -> bytes:
        """Returns what can prove later how an action ended; nothing where nothing can."""
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

    # --- how actions ended ----------------------------------------------------------------------------------

    async def _settle(self, charges: Sequence[Charge]) -> bool:
        """Shortens how long actions count by what the chain proves. Returns whether it did for any."""
        changed = False
        for counter, window_s in {charge.counter: charge.limit.window_s for charge in charges}.items():
            tried = 0
            for held in sorted(await self.held.held(counter), key=lambda each: -each.amount):
                if not held.note or tried >= _MOST_TRIED:
                    continue
                tried += 1
                outcome = await self._outcome(held)
                if outcome == _UNUSED:
                    changed |= await self.held.release(counter, held)
                elif outcome is not None:
                    changed |= await self.held.shorten(counter, held, window_s - outcome)
        return changed

    async def _outcome(self, held: Held) -> int | None:
        """Returns how many seconds ago an action was executed; ``_UNUSED`` when it was not and cannot be;
        None when the chain proves neither.
        """
        chain_id, sender, first, deadline, digest = orjson.loads(held.note)
        account = _account(chain_id, sender)
        try:
            chain = self.runtime.chain(chain_id)
            block = await chain.head()
            count = quantity(await chain.pinned("eth_getTransactionCount", [sender], block))
            used = range(first, count)
            if count < first or len(used) > _MOST_NONCES:
                return None
            hashes = await self.held.told(account, used)
            is_past = block.timestamp > deadline + _SURE_AFTER_S
            if not hashes:
                return _UNUSED if is_past and not used else None
            reads = [self._sent(chain, block, sender, *each) for each in sorted(hashes.items())]
            for sent in await asyncio.gather(*reads):
                if sent.is_reverted or sent.digest != digest:
                    continue
                ago_s = block.timestamp - sent.timestamp
                if ago_s <= _SURE_AFTER_S:
                    return None
                # Actions may have the same transaction: each that was sent stands for one of them.
                if await self.held.claim(account, sent.tx_hash, held.name, self._keep_s):
                    return ago_s
        except (GatewayError, LookupError, ValueError, TypeError, AttributeError):
            return None
        return _UNUSED if is_past and len(hashes) == len(used) else None

    @staticmethod
    async def _sent(
        chain: RpcChain, block: models.Block, sender: models.Address, nonce: int, tx_hash: str
    ) -> _Sent:
        """Returns a transaction that is in a block of the chain. Raises ``ValueError`` for any other."""
        found, receipt = await asyncio.gather(
            chain.request("eth_getTransactionByHash", [tx_hash], shared=False),
            chain.request("eth_getTransactionReceipt", [tx_hash], shared=False),
        )
        if checksum(found["from"]) != sender or quantity(found["nonce"]) != nonce:
            raise ValueError("another transaction")
        its_block = await chain.block(quantity(receipt["blockNumber"]), shared=False)
        if its_block.number > block.number or its_block.hash != receipt["blockHash"]:
            raise ValueError("its block is not of this chain")
        digest = _digest(found["to"], quantity(found["value"]), bytes.fromhex(found["input"][2:]))
        return _Sent(tx_hash, its_block.timestamp, quantity(receipt["status"]) == 0, digest)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A transaction in a block with this time, Unix seconds. ``digest`` is that of its call."""

    tx_hash: str
    timestamp: int
    is_reverted: bool
    digest: str


def _digest(to: str | None, value: int, data: bytes) -> str:
    target = b"" if to is None else bytes.fromhex(to[2:])
    return keccak256(target + value.to_bytes(32) + data).hex()


def _account(chain_id: int, address: models.Address) -> str:
    return f"{chain_id}/{address}"
