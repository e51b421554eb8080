"""The configuration of live answers: ``[stream]``."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway.config.fields import integer, seconds, setting


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """Streams of `GET /v2/stream`, for each worker process.

    With the defaults the quotes that one caller follows are quoted as often as `limits.quotes` allows to ask:
    five quotes, each every five seconds at most.
    """

    streams: int = setting(integer(0, 100_000), "Open streams in all; 0: none.", 1_000)
    streams_per_caller: int = setting(
        integer(1, 100_000), "Open streams of one API key, or of one address without keys.", 20
    )
    topics: int = setting(integer(1, 1_000), "Topics of one stream.", 20)
    quotes: int = setting(integer(0, 100_000), "Quotes that are followed in all; 0: none.", 100)
    quotes_per_caller: int = setting(integer(1, 100_000), "Quotes that one caller follows.", 5)
    quote_interval_s: float = setting(
        seconds(0.05, 3_600), "Least time between two quotes of one request that is followed.", 5.0
    )
    transactions: int = setting(
        integer(0, 100_000), "Transactions and transfers that are followed in all; 0: none.", 200
    )
    transactions_per_caller: int = setting(
        integer(1, 100_000), "Transactions and transfers that one caller follows.", 20
    )
    transaction_interval_s: float = setting(
        seconds(0.05, 3_600),
        "Least time between two looks at a transaction or transfer; up to ten times that when it has not "
        "changed for long.",
        3.0,
    )
    index_interval_s: float = setting(
        seconds(0.05, 3_600), "Time between two looks at the progress of indexes.", 2.0
    )
    queue_bytes: int = setting(
        integer(4_096, 16_777_216),
        "Bytes that may wait in the connection of a client that reads slowly. Of what comes then it gets the "
        "newest state of each topic.",
        65_536,
    )
    write_timeout_s: float = setting(
        seconds(0.05, 600), "Time that a client has to take what waits; then it is disconnected.", 10.0
    )
    heartbeat_s: float = setting(
        seconds(0.05, 3_600), "Time without an event after which a comment is sent.", 15.0
    )
    retry_s: float = setting(
        seconds(0.05, 600), "Time after which a client connects again, on average; clients differ.", 2.0
    )
    lifetime_s: float = setting(
        seconds(0.05, 604_800), "Time after which a stream ends; the client connects again.", 3_600.0
    )
