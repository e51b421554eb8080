"""What solver processes run in the tests: a solver that splits evenly, and solvers with one fault each."""

import contextlib
import gc
import itertools
import os
import signal
import time
from dataclasses import dataclass, replace
from fractions import Fraction

from quoteway_amm import Graph, Hop, V2Pool, best_path_exact_in

ANSWER_FD = 4
"""The worker's end of the pipe to the server."""


@dataclass
class Flow:
    legs: tuple


@dataclass
class FlowResult:
    flow: object
    optimality: object


@dataclass
class Optimality:
    bound: int
    price: Fraction
    gap_bps: float
    pid: int
    niceness: int
    deadline_s: float


def optimality(deadline_s):
    return Optimality(2**200, Fraction(1, 3), 0.5, os.getpid(), os.nice(0), deadline_s)


def hop_of(pool, token_in, amount_in):
    zero_for_one = pool.token0 == token_in
    token_out = pool.token1 if zero_for_one else pool.token0
    amount_out, crossed = pool.exact_in(zero_for_one, amount_in)
    fee = pool.swap_fee_pips(zero_for_one)
    return Hop(pool, zero_for_one, token_in, token_out, amount_in, amount_out, fee, crossed)


def splits(pools, wrapped_native, token_in, token_out, amount_in, gas_model, gas_price, **most):
    """Splits evenly over the pools of the two tokens."""
    direct = [pool for pool in pools if {pool.token0, pool.token1} == {token_in, token_out}]
    direct = direct[: most["max_legs"]]
    parts = [amount_in // len(direct)] * len(direct)
    parts[-1] += amount_in - sum(parts)
    legs = tuple(hop_of(pool, token_in, part) for pool, part in zip(direct, parts, strict=True))
    return FlowResult(Flow(legs), optimality(most["deadline_s"]))


def takes_the_best_path(pools, wrapped_native, token_in, token_out, amount_in, gas_model, gas_price, **most):
    path = best_path_exact_in(
        Graph(pools, wrapped_native), token_in, token_out, amount_in, gas_model, gas_price, most["max_hops"]
    )
    return FlowResult(Flow(path.hops), optimality(most["deadline_s"]))


def lies(*order, **most):
    """States one unit more than the last pool gives."""
    result = splits(*order, **most)
    *others, last = result.flow.legs
    return FlowResult(Flow((*others, replace(last, amount_out=last.amount_out + 1))), result.optimality)


def sends(data):
    def send(*order, **most):
        with contextlib.suppress(OSError):
            os.write(ANSWER_FD, data)
        time.sleep(60)

    return send


def framed(data):
    return len(data).to_bytes(4, "big") + data


def fails(*order, **most):
    raise ValueError(f"the request is {order}")


def prints(*order, **most):
    print("x" * 100_000, flush=True)
    os.write(1, b"\0\0\0\2{}")
    return splits(*order, **most)


def is_late(*order, **most):
    """Answers after its deadline, within the time of grace."""
    time.sleep(most["deadline_s"] + 0.08)
    return splits(*order, **most)


def counts(*order, **most):
    """Tells how many pairs this process has."""
    result = splits(*order, **most)
    result.optimality.bound = sum(isinstance(each, V2Pool) for each in gc.get_objects())
    return result


def finds_nothing(*order, **most):
    return FlowResult(None, optimality(most["deadline_s"]))


ENDINGS = {
    "it did not answer in time": lambda *order, **most: time.sleep(60),
    "it did not answer in time ": lambda *order, **most: all(itertools.repeat(True)),
    "it ended with status 3": lambda *order, **most: os._exit(3),
    "it ended with SIGSEGV": lambda *order, **most: os.kill(os.getpid(), signal.SIGSEGV),
    "it needed more than 256 MB of memory": lambda *order, **most: bytearray(1 << 30),
    "it gave a flow that its pools do not give": lies,
    "it sent what cannot be read: DecodeError": sends(framed(b"\x80\4garbage")),
    "it sent what cannot be read: ValueError": sends(
        framed(b'{"type":"solved","legs":[],"optimality":{"a":' + b"[" * 100_000)
    ),
    "it sent what cannot be read: ValidationError": sends(
        framed(b'{"type":"solved","legs":[[0,true,1,%s]],"optimality":{}}' % (b"9" * 900_000))
    ),
    "it sent what cannot be read: ValidationError ": sends(framed(b'{"type":"ended"}')),
    "it sent 4294967295 bytes, the longest answer has 4194304": sends(b"\xff" * 300_000),
    "it answered out of turn": sends(framed(b'{"type":"ready"}')),
    "it named a pool that does not exist": sends(
        framed(
            b'{"type":"exceeded","bands":[[999,true,0,0,0,0]],"settled":'
            b'{"type":"solved","legs":[],"optimality":{}}}'
        )
    ),
}
"""Each ends its process, or has it ended, for the reason that is its key."""
BEHAVIOURS = {**ENDINGS, **{each.__name__: each for each in (fails, prints, is_late, counts, finds_nothing)}}


class KeepsTheSnapshot:
    """Tells how many snapshots it has seen."""

    def __init__(self):
        self.pools, self.snapshots = None, 0

    def __call__(self, pools, *order, **most):
        self.snapshots += pools is not self.pools
        self.pools = pools
        result = splits(pools, *order, **most)
        result.optimality.bound = self.snapshots
        return result


class CountsSnapshots:
    """Tells how many snapshots it has seen, those that it has seen before not counted again."""

    def __init__(self):
        self.seen = []

    def __call__(self, pools, *order, **most):
        if not any(pools is each for each in self.seen):
            self.seen.append(pools)
        result = splits(pools, *order, **most)
        result.optimality.bound = len(self.seen)
        return result


def obeys(pools, wrapped_native, *order, **most):
    """Behaves as ``wrapped_native`` says."""
    return BEHAVIOURS.get(wrapped_native, splits)(pools, wrapped_native, *order, **most)
