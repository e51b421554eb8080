"""Runs the transactions of an action on the chain's state and reads what they did, without the core."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from eth_account import Account
from quoteway import NATIVE
from quoteway.evm import erc20, permit2
from quoteway.evm.address import checksum, unused_address
from quoteway.evm.batch import outputs, program
from quoteway.models import Action, Call, Read, Step

from corrupting.chains import CHAIN_ID, COPIED, FRIEND, SLUG, THIEF, USER, USER_KEY, WHALE, World
from corrupting.material import FEE, KEEPER

_READER = unused_address("corrupting.reader")
_COIN_LOGS = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
"""The address of anvil's logs of the native coin's transfers (ERC-7528)."""


@dataclass(frozen=True, slots=True)
class Log:
    """An event of one of the action's transactions."""

    address: str
    topics: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Ran:
    """What the transactions did. ``reverted`` is the index of the first that reverted, None when none did.

    ``deltas`` are changes of (account, token) in base units, ``allowances`` what is left of (token, spender)
    after, with what was there before; those through Permit2 have "permit2" as a third key.
    """

    reverted: int | None
    deltas: Counter[tuple[str, str]]
    allowances: dict[tuple[str, ...], tuple[int, int]]
    logs: tuple[Log, ...] = ()
    revert_data: bytes = b""
    flows: Counter[tuple[str, str]] = field(default_factory=Counter)
    """What each account got of each token by the logs, less what it gave."""


class Machine:
    """Runs actions against the devnet's newest block."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._rpc = world.devnet.rpc(SLUG)
        contracts = world.manifest.contracts
        self.routers = {contracts[name] for name in COPIED} - {contracts["SpokePool"]}
        """Contracts that keep nothing of what passes through them."""
        people = [USER, FRIEND, KEEPER, FEE.recipient, THIEF]
        self.accounts = [*people, *world.copies.values(), *sorted(self.routers)]
        self.spenders = [*sorted(self.routers), contracts["SpokePool"], permit2.ADDRESS, THIEF]
        self.spenders += [*world.copies.values(), *(vault.address for vault in world.manifest.vaults)]
        known = [*contracts.values(), *(pool.id for pool in world.manifest.pools if len(pool.id) == 42)]
        known += [token.address for token in world.tokens.values()]
        known += [vault.address for vault in world.manifest.vaults]
        self.known = {checksum(address) for address in known}
        """Accounts that may get tokens: the contracts of the chain."""
        self._ran: dict[tuple[object, ...], Ran] = {}
        self.head = self._rpc("eth_getBlockByNumber", "latest", False)

    def run(self, action: Action, moves: Sequence[tuple[bytes, int]] = (), late: bool = False) -> Ran:
        """Runs an action after ``moves`` of the whale, or ``late``: after its deadline."""
        steps = signed_steps(action)
        owner = action.sender
        legs = (*action.inputs, *action.outputs)
        tokens = dict.fromkeys(
            [NATIVE, *(leg.token.address for leg in legs if leg.token.chain_id == CHAIN_ID)]
        )
        accounts = dict.fromkeys((*self.accounts, owner, *(leg.account for leg in legs)))
        places = [(account, token) for account in accounts for token in tokens]
        moment = action.deadline if late else None
        key = (owner, tuple(places), moment, *moves, *((step.to, data, step.value) for step, data in steps))
        if key not in self._ran:
            self._ran[key] = self._run(owner, list(tokens), places, steps, moves, moment)
        return self._ran[key]

    def _run(
        self,
        owner: str,
        tokens: Sequence[str],
        places: Sequence[tuple[str, str]],
        steps: Sequence[tuple[Step, bytes]],
        moves: Sequence[tuple[bytes, int]],
        moment: int | None,
    ) -> Ran:
        grants, reads, code = self._reads(owner, tuple(tokens), tuple(places))
        router = self.world.manifest.contracts["UniversalRouter"]
        prelude = [_call(WHALE, router, data, value) for data, value in moves]
        read = {"from": NATIVE, "to": _READER, "input": "0x"}
        own = [read]
        for step, data in steps:
            own += [_call(owner, step.to, data, step.value), read]
        time = int(self.head["timestamp"], 16) + 1
        if moment is not None:
            time = max(time, moment + 1)
        payload = {
            "blockStateCalls": [
                {
                    "blockOverrides": {"number": hex(int(self.head["number"], 16) + 1), "time": hex(time)},
                    "stateOverrides": {_READER: {"code": code}},
                    "calls": [*prelude, *own],
                }
            ],
            "traceTransfers": True,
            "validation": False,
        }
        answer = self._rpc("eth_simulateV1", payload, "latest")[0]["calls"]
        states, done = answer[len(prelude) :: 2], answer[len(prelude) + 1 :: 2]
        reverted = next((index for index, each in enumerate(done) if each["status"] != "0x1"), None)
        # A wallet sends no more after a transaction that reverts.
        before, after = states[0], states[-1 if reverted is None else reverted]
        was, now = (
            [_words(word) for word in outputs(reads, _bytes(each["returnData"]))] for each in (before, after)
        )
        deltas: Counter[tuple[str, str]] = Counter()
        for place, old, new in zip(places, was, now, strict=False):
            if new != old:
                deltas[place] = new[0] - old[0]
        left = zip(grants, was[len(places) :], now[len(places) :], strict=True)
        allowances = {key: (old[0], new[0]) for key, old, new in left if new[0] > 0}
        logs = tuple(_logs(done[:reverted]))
        data = b"" if reverted is None else _bytes(done[reverted]["returnData"])
        return Ran(reverted, deltas, allowances, logs, data, _flows(logs))

    @functools.lru_cache(maxsize=4096)  # noqa: B019 - it lives as long as the cases
    def _reads(
        self, owner: str, tokens: tuple[str, ...], places: tuple[tuple[str, str], ...]
    ) -> tuple[list[tuple[str, ...]], list[Read], str]:
        """Returns the allowances to read, all reads, and the code that makes them."""
        involved = [token for token in tokens if token != NATIVE]
        grants: list[tuple[str, ...]] = [(token, spender) for token in involved for spender in self.spenders]
        reads = [erc20.balance_read(*place) for place in places]
        reads += [erc20.allowance_read(token, owner, spender) for token, spender in grants]
        pulled = [grant for grant in grants if grant[1] != permit2.ADDRESS]
        reads += [Call(permit2.ADDRESS, permit2.ALLOWANCE.encode([owner, *pair])) for pair in pulled]
        return [*grants, *((*pair, "permit2") for pair in pulled)], reads, "0x" + program(reads).hex()


def signed_steps(action: Action) -> list[tuple[Step, bytes]]:
    """Returns the transactions with their calldata, as a client signs and splices it."""
    datas = [step.data for step in action.steps]
    for asked in action.signatures:
        typed = asked.typed_data
        types = {name: members for name, members in typed["types"].items() if name != "EIP712Domain"}
        message = _numbers(typed["message"])
        signature = Account.sign_typed_data(USER_KEY, dict(typed["domain"]), types, message).signature
        data, at = datas[asked.step], asked.offset
        datas[asked.step] = data[:at] + bytes(signature) + data[at + asked.length :]
    return list(zip(action.steps, datas, strict=True))


def _numbers(message: object) -> object:
    if isinstance(message, dict):
        return {name: _numbers(value) for name, value in message.items()}
    return int(message) if isinstance(message, str) and message.isdecimal() else message


def _call(sender: str, to: str, data: bytes, value: int = 0) -> dict[str, str]:
    return {"from": sender, "to": to, "input": "0x" + data.hex(), "value": hex(value), "gas": hex(8_000_000)}


def _words(output: object) -> tuple[int, ...]:
    data = output if isinstance(output, bytes) else b""
    return (int.from_bytes(data[:32]),)


def _bytes(text: str | None) -> bytes:
    return bytes.fromhex((text or "0x")[2:])


def _logs(done: Sequence[dict]) -> list[Log]:
    return [
        Log(checksum(log["address"]), tuple(log["topics"]), _bytes(log["data"]))
        for each in done
        for log in each["logs"]
    ]


def _flows(logs: Sequence[Log]) -> Counter[tuple[str, str]]:
    flows: Counter[tuple[str, str]] = Counter()
    for log in logs:
        if log.topics and log.topics[0] == erc20.TRANSFER_EVENT and len(log.topics) >= 3:
            token = NATIVE if log.address.lower() == _COIN_LOGS else log.address
            amount = 1 if len(log.topics) == 4 else int.from_bytes(log.data[:32])
            giver, taker = (checksum("0x" + topic[-40:]) for topic in log.topics[1:3])
            flows[giver, token] -= amount
            flows[taker, token] += amount
    return flows
