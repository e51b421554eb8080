"""``[server]`` and its sockets: addresses, workers, the bounds of requests, and the logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from marshmallow import fields

from quoteway.config import fields as kinds
from quoteway.config.fields import Listing, choice, integer, seconds, setting, text
from quoteway.config.keys import api_key_field
from quoteway.secrets import Secret

AccessLog = Literal["all", "errors"]
LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The socket, its limits and the logs."""

    host: str = setting(text(min_chars=1), "Address to listen on.", "127.0.0.1")
    port: int = setting(integer(0, 65_535), "Port to listen on; 0: a free one.", 8080)
    workers: int = setting(integer(1, 256), "Number of server processes.", 1)
    metrics_port: int | None = setting(
        integer(0, 65_535, allow_none=True), "Port of `/metrics`; unset: `/metrics` is on `port`.", None
    )
    metrics_host: str | None = setting(
        text(min_chars=1), "Address that `metrics_port` listens on; unset: `host`.", None
    )
    body_limit_bytes: int = setting(integer(1_024, 16_777_216), "Longest request body.", 65_536)
    rpc_body_limit_bytes: int = setting(
        integer(1_024, 16_777_216), "Longest request body of the JSON-RPC proxy.", 262_144
    )
    max_line_bytes: int = setting(integer(8_190, 65_536), "Longest request line or header.", 8_190)
    max_connections: int | None = setting(
        integer(16, 1_000_000, allow_none=True),
        "Open connections of a process; unset: three quarters of the files that it may open. Beyond, a new "
        "one closes the oldest that waits for a request.",
        None,
    )
    max_connections_per_address: int = setting(
        integer(1, 1_000_000),
        "As `max_connections`, of one client address, and at most a quarter of those. Trusted proxies and "
        "loopback have no limit of their own.",
        128,
    )
    body_timeout_s: float = setting(seconds(0.05, 600), "Time to receive a request body.", 10.0)
    keepalive_timeout_s: float = setting(seconds(0.05, 3_600), "Time that an idle connection is kept.", 30.0)
    request_timeout_s: float = setting(seconds(0.05, 600), "Time to answer a request.", 30.0)
    drain_s: float = setting(
        seconds(0, 600),
        "Time after SIGTERM in which requests are still accepted: `/readyz` is 503, and answers close their "
        "connections. Longer than a load balancer takes to notice; 0 in the embedded default.",
        1.0,
    )
    shutdown_timeout_s: float = setting(seconds(0, 600), "Time to finish open requests at the end.", 10.0)
    ready_when: Literal["any", "all"] | tuple[str, ...] = setting(
        kinds.RequiredField(),
        "What `/readyz` needs to be 200. `any`: one network answers, and each has an enabled RPC upstream. "
        "`all`: no network is `dead` either. A list of networks and `network:capability`: none of these is "
        "`dead`, and others do not count.",
        "any",
    )
    cors_origins: tuple[str, ...] = setting(
        Listing(fields.String(validate=kinds.origin)),
        "Origins whose pages may call the API; `*`: all. In the embedded default those of `localhost`, "
        "`127.0.0.1` and `[::1]` may at any port.",
        (),
    )
    allowed_hosts: tuple[str, ...] = setting(
        Listing(kinds.matching(r"^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)$")),
        "Host names, without port, that requests may be for beside `localhost` and loopback addresses; for "
        "others they are refused (421), also for probes of health. Unset: any, but in the embedded default "
        "those of loopback alone.",
        (),
    )
    site: str | None = setting(
        text(min_chars=1),
        "Plugin whose web interface browsers get at `/`; unset: none, but in the embedded default `console` "
        "where it is installed.",
        None,
    )
    site_frame_ancestors: tuple[str, ...] = setting(
        Listing(fields.String(validate=kinds.origin)),
        "Origins whose pages may show the web interface in a frame, such as `https://app.safe.global`.",
        (),
    )
    trusted_proxies: tuple[str, ...] = setting(
        Listing(fields.String(validate=kinds.proxy)),
        "Addresses or networks whose `X-Forwarded-For` names the client.",
        (),
    )
    access_log: AccessLog = setting(choice(AccessLog), "Requests that are logged.", "errors")
    log_format: LogFormat = setting(choice(LogFormat), "`auto`: `console` in a terminal, or `json`.", "auto")
    log_level: LogLevel = setting(choice(LogLevel), "Least level that is logged.", "info")
    capture: int = setting(
        integer(0, 1_000), "Newest requests of a worker that `quoteway capture` can get; 0: none.", 0
    )
    capture_bytes: int = setting(
        integer(1_048_576, 4_294_967_296), "Memory that their recordings may take.", 67_108_864
    )
    capture_key: Secret | None = setting(
        api_key_field(allow_none=True),
        "Bearer token of `/operator/captures`, for operators only. A deployment needs one for `capture`.",
        None,
    )

    @property
    def required(self) -> tuple[tuple[str, str], ...]:
        """Returns the networks of a ``ready_when`` list, each with a capability; "" for the network."""
        listed = () if isinstance(self.ready_when, str) else self.ready_when
        return tuple((slug, capability) for slug, _, capability in (each.partition(":") for each in listed))


@dataclass(frozen=True, slots=True)
class SocketsConfig:
    """WebSocket connections of the JSON-RPC proxy, for each worker process.

    Each call over one counts against `limits.rpc`, as over HTTP. Pages connect from `server.cors_origins`.
    """

    connections: int = setting(integer(0, 100_000), "Open connections in all; 0: none.", 500)
    connections_per_caller: int = setting(
        integer(1, 100_000), "Open connections of one API key, or of one address without keys.", 50
    )
    subscriptions: int = setting(integer(1, 10_000), "Subscriptions of one connection.", 100)
    queue_bytes: int = setting(
        integer(65_536, 1_073_741_824),
        "Bytes that may wait for a client that reads slowly. With more to send it is disconnected.",
        4_194_304,
    )
    write_timeout_s: float = setting(seconds(0.05, 600), "Time that a client has to take a message.", 10.0)
    ping_s: float = setting(
        seconds(0.1, 3_600),
        "Time without a message after which a client is pinged; it has half of it to answer.",
        30.0,
    )
