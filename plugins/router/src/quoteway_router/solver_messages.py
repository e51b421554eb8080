"""What crosses the pipes between the server and a solver process.

A message is its length (4 bytes, big-endian) and its bytes. Tasks are pickled: the process runs our code and
believes the server. Answers are JSON of the closed set of shapes below: the server never unpickles, so that
no answer makes it run anything.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from quoteway_amm import GasModel, GasPrice, Pool

HEADER_BYTES = 4
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""The prices of 20,000 tokens fit in."""
MAX_LEGS = 256
"""Most legs or exceeded bands of an answer."""
MAX_NESTED = 2 * MAX_LEGS + 16
"""Most lists and tables of an answer: a leg and a band are one each."""
OUT_OF_MEMORY = 71
"""The exit status after a ``MemoryError``: what is left of the process is not trusted."""


@dataclass(frozen=True, slots=True)
class Order:
    """An exact input to route, or with ``amount_out`` an exact output. Amounts are base units; a leg is one
    pool of the flow. With ``bound_only``, no flow is looked for: only how much any flow could pay at most.
    """

    wrapped_native: str | None
    token_in: str
    token_out: str
    amount_in: int
    gas_model: GasModel
    gas_price: GasPrice
    max_hops: int | None
    max_legs: int
    amount_out: int | None = None
    bound_only: bool = False


@dataclass(frozen=True, slots=True)
class NewPools:
    """Pools of the next tasks, by the keys that name them there. Not answered."""

    pools: Mapping[int, Pool]


@dataclass(frozen=True, slots=True)
class Task:
    """An order on a snapshot: the keys of its pools, None for the snapshot of the task before.

    ``dropped`` are keys that no later task names.
    """

    snapshot: Sequence[int] | None
    dropped: Sequence[int]
    order: Order
    deadline_s: float


class Leg(msgspec.Struct, frozen=True, array_like=True):
    """A hop; ``pool`` is its index in the snapshot."""

    pool: int
    zero_for_one: bool
    amount_in: int
    amount_out: int


class Band(msgspec.Struct, frozen=True, array_like=True):
    """A ``BandExceeded``; ``pool`` is its index in the snapshot."""

    pool: int
    zero_for_one: bool
    tick: int
    amount_in: int
    amount_out: int
    sqrt_price_x96: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The process has loaded its function."""


class Solved(msgspec.Struct, frozen=True, tag="solved"):
    """A flow in execution order, without legs when there is none, and what the solver says of its quality;
    for an order with ``bound_only`` the bound alone.
    """

    legs: Annotated[list[Leg], msgspec.Meta(max_length=MAX_LEGS)]
    optimality: dict[str, Any]


class Exceeded(msgspec.Struct, frozen=True, tag="exceeded"):
    """A ``BandsExceeded``: pools that may win lack ticks. ``settled`` is the best among the known."""

    bands: Annotated[list[Band], msgspec.Meta(min_length=1, max_length=MAX_LEGS)]
    settled: Solved


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The function raised: the class of the exception and the line. Not its text, which may have amounts."""

    error: Annotated[str, msgspec.Meta(pattern="^[ -~]{1,200}$")]


Answer = Ready | Solved | Exceeded | Failed

_answers = msgspec.json.Decoder(Answer)


def encode_message(message: NewPools | Task) -> bytes:
    """Returns the bytes of a message to the process."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def decode_message(data: bytes) -> NewPools | Task:
    """Returns the message. Only for bytes of the server: a pickle may run anything."""
    message: NewPools | Task = pickle.loads(data)  # noqa: S301 - see above
    return message


def encode_answer(answer: Answer) -> bytes:
    """Returns the bytes of an answer. Members of ``optimality`` that JSON does not have become text."""
    return msgspec.json.encode(answer, enc_hook=str)


def decode_answer(data: bytes) -> Answer:
    """Returns the answer. Raises msgspec.MsgspecError or ValueError for any other bytes."""
    if data.count(b"[") + data.count(b"{") > MAX_NESTED:
        # Reading very deep levels ends the process where the recursion limit was raised.
        raise ValueError("more lists and tables than an answer has")
    answer: Answer = _answers.decode(data)
    return answer


def framed(data: bytes) -> bytes:
    """Returns a message with its length before it."""
    return len(data).to_bytes(HEADER_BYTES, "big") + data
