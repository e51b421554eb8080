"""Tries many random swaps on the real contracts and compares them with their quotes, to the wei.

``python trials.py --swaps 100000 --seed 1`` prints a summary and exits with 1 when any difference is not
zero, when a transaction reverts or when the router keeps anything. A hundred swaps are tried in one
``eth_call``, each on the same state (``SwapTrials.sol`` in the place of the sender's account). Between these
calls a few are executed, so that states change. One third are exact inputs, one third exact outputs, one
third random flows of up to ``--legs`` legs; with ``--solvers 1``, the first two are split where that pays.
The guard reads each transaction.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from exactness import random_request
from execution import APPROVE, PERMIT2_APPROVE, Reverted, SwapHarness, command_line, started
from flows import STRANGER, FlowMaker
from quoteway import NATIVE, GatewayError, Quote, SwapRequest
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.transactions import own_init_code

AT_ONCE = 100
"""Swaps in one call: below the node's gas limit for 20 legs each."""
EXECUTED_BETWEEN = 3
MOST_LEGS = 20
MOST = (1 << 160) - 1
UNTIL = (1 << 48) - 1
TRY_ALL = function(
    "tryAll((address target, uint256 value, bytes data, address tokenIn, address tokenOut,"
    " address recipient)[] swaps) returns (bytes[] outcomes)"
)
TRIED = function("Tried(uint256, uint256, uint256, uint256, uint256)")


@dataclass
class TrialReport:
    """``wrong`` says what differs."""

    tried: Counter[str] = field(default_factory=Counter)
    legs: Counter[int] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    states: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Trial:
    """A swap to try: its kind, request and quote, and the transaction."""

    kind: str
    request: SwapRequest
    quote: Quote
    target: str
    value: int
    data: bytes


class Trials:
    """Random swaps of one account of a devnet chain."""

    def __init__(self, harness: SwapHarness, chance: random.Random, most_legs: int) -> None:
        self.harness, self.chance, self.most_legs = harness, chance, most_legs
        self.maker = FlowMaker(harness, chance, states=harness.state.states)
        self.account = harness.sender
        self.code = ""

    async def prepare(self) -> None:
        """Approves everything once, and puts the contract's code on the chain."""
        rpc, account = self.harness.rpc, self.account
        made = {"from": account, "data": "0x" + own_init_code("SwapTrials").hex(), "gas": hex(3_000_000)}
        creation = rpc("eth_sendTransaction", made)
        tokens = [token.address for token in self.harness.tokens.values() if token.address != NATIVE]
        for token in tokens:
            grant = PERMIT2_APPROVE.encode([token, self.harness.router, MOST, UNTIL])
            for to, data in (
                (token, APPROVE.encode([self.harness.permit2, (1 << 256) - 1])),
                (self.harness.permit2, grant),
            ):
                rpc(
                    "eth_sendTransaction",
                    {"from": account, "to": to, "data": "0x" + data.hex(), "gas": hex(200_000)},
                )
        rpc("evm_mine")
        receipt = rpc("eth_getTransactionReceipt", creation)
        self.code = rpc("eth_getCode", receipt["contractAddress"], "latest")
        await self.harness.chain.head(fresh=True)

    async def batch(self, count: int, report: TrialReport) -> None:
        """Tries ``count`` swaps at the newest block."""
        made: list[Trial] = []
        while len(made) < count:
            kind, make = self.chance.choice(
                (("exact in", self._exact_in), ("exact out", self._exact_out), ("flow", self._flow))
            )
            try:
                found = await make()
            except GatewayError as error:
                report.refused[f"{kind}: {error.reason}"] += 1
                continue
            if found is None:
                continue
            request, quote = found
            (step,) = (await self.harness.build(request, quote)).steps
            made.append(Trial(kind, request, quote, step.to, step.value, step.data))
        self._try(made, report)

    async def change(self) -> None:
        """Executes a few swaps: they change pools, and mine a block each."""
        for _ in range(EXECUTED_BETWEEN):
            try:
                # Of another account: an execution approves exact amounts.
                request = random_request(self.harness, self.chance)
                await self.harness.swap(replace(request, sender=ACCOUNTS[1].address))
            except (GatewayError, LookupError, Reverted):
                continue
        await self.harness.chain.head(fresh=True)

    def _try(self, made: list[Trial], report: TrialReport) -> None:
        swaps = [
            (
                trial.target,
                trial.value,
                trial.data,
                trial.request.token_in.address,
                trial.request.token_out.address,
                trial.request.recipient,
            )
            for trial in made
        ]
        call = {"to": self.account, "data": "0x" + TRY_ALL.encode([swaps]).hex(), "gas": hex(900_000_000)}
        answer = self.harness.rpc("eth_call", call, "latest", {self.account: {"code": self.code}})
        (outcomes,) = TRY_ALL.decode_output(bytes.fromhex(answer[2:]))
        for trial, outcome in zip(made, outcomes, strict=True):
            report.tried[trial.kind] += 1
            report.legs[len(trial.quote.route_legs or ())] += 1
            if outcome[:4] != TRIED.selector:
                report.wrong.append(f"{trial.kind} reverted with {outcome.hex()[:200]}: {trial.request}")
                continue
            spent, received, _, left_in, left_out = TRIED.decode(outcome)
            quote = trial.quote
            quoted = quote.inputs[0].amount, quote.outputs[0].amount
            if (spent, received) != quoted or left_in or left_out:
                told = f"{(spent, received)} for {quoted}, {left_in} and {left_out} left"
                report.wrong.append(f"{trial.kind}: {told}: {trial.request}")

    async def _exact_in(self) -> tuple[SwapRequest, Quote] | None:
        request = self._own(random_request(self.harness, self.chance))
        quote = await self.harness.provider.quote(request)
        return None if quote is None else (request, quote)

    async def _exact_out(self) -> tuple[SwapRequest, Quote] | None:
        likely = await self._exact_in()
        if likely is None:
            return None
        request, quote = likely
        wanted = replace(request, amount_in=0, amount_out=quote.outputs[0].amount)
        found = await self.harness.provider.quote(wanted)
        return None if found is None else (wanted, found)

    async def _flow(self) -> tuple[SwapRequest, Quote]:
        request, quote, _ = await self.maker.flow(self.most_legs)
        return replace(request, sender=self.account), quote

    def _own(self, request: SwapRequest) -> SwapRequest:
        recipient = self.account if request.recipient == request.sender else STRANGER
        return replace(request, sender=self.account, recipient=recipient)


async def try_random_swaps(
    n: int,
    seed: int,
    devnet: Devnet | None = None,
    slug: str = "devnet",
    most_legs: int = MOST_LEGS,
    solvers: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> TrialReport:
    """Tries ``n`` random swaps, ``AT_ONCE`` on each state, with so many solver processes."""
    report, chance = TrialReport(), random.Random(seed)
    started_at = time.perf_counter()
    settings = {"solver_processes": solvers}
    async with started(devnet) as running, SwapHarness(running, slug, settings) as harness, harness.shared:
        trials = Trials(harness, chance, most_legs)
        snapshot = harness.rpc("evm_snapshot")
        await trials.prepare()
        while (done := sum(report.tried.values())) < n:
            await trials.batch(min(AT_ONCE, n - done), report)
            report.states += 1
            await trials.change()
            if report.states % 10 == 0:
                took_s = time.perf_counter() - started_at
                say(f"{done + AT_ONCE} of {n} swaps, {len(report.wrong)} wrong, {took_s:.0f} s")
        harness.rpc("evm_revert", snapshot)
    report.seconds = time.perf_counter() - started_at
    return report


def log(line: str) -> None:
    """Tells how far a run is."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Runs the command line."""
    options = command_line(__doc__, swaps=100_000, seed=1, legs=MOST_LEGS, solvers=0)
    limits = {"most_legs": options.legs, "solvers": options.solvers}
    report = asyncio.run(try_random_swaps(options.swaps, options.seed, say=log, **limits))
    total = sum(report.tried.values())
    print(f"{total} swaps tried on {report.states} states, seed {options.seed}, {report.seconds:.0f} s")
    print(f"kinds: {dict(report.tried)}; legs: {dict(sorted(report.legs.items()))}")
    print(f"not quoted: {dict(report.refused)}")
    print(f"other than quoted, reverted, or something left in the router: {len(report.wrong)}")
    for line in report.wrong[:10]:
        print(line)
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
