"""What operations share in the OpenAPI document: tags, the API key, headers, and errors by status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TAGS: Mapping[str, str] = {
    "deployment": "What this deployment serves: providers, networks, and how far its index is.",
    "tokens": "The token catalog.",
    "prices": "Prices of tokens in US dollars, now and over time.",
    "swaps": "Swaps within one network and to another one: quotes, actions and indicative prices.",
    "bridges": "Transfers of tokens to another network.",
    "pools": "Liquidity: pools, positions in them, and their metrics over time.",
    "vaults": "Vaults: deposits, withdrawals, management, deployment, and their metrics over time.",
    "transactions": "What became of the transactions of an action.",
    "portfolio": "What a wallet holds, has done and has approved.",
    "stream": "Live answers: new blocks, followed quotes, transactions and transfers, and indexes.",
    "webhooks": "Signed webhooks: the states of transfers and transactions, sent to a URL.",
    "rpc": "Read-only JSON-RPC of the networks.",
}

API_KEY = "apiKey"
SECURITY_SCHEMES: Mapping[str, Mapping[str, str]] = {
    API_KEY: {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the operator, as `Authorization: Bearer <key>`. A deployment without "
        "`[auth] keys` takes requests without one.",
    }
}
SECURITY: tuple[Mapping[str, list[str]], ...] = ({API_KEY: []}, {})
"""Each operation takes a key; whether it needs one is for the deployment to say."""


def _header(description: str, example: str, kind: str = "string") -> Mapping[str, Any]:
    value = int(example) if kind == "integer" else example
    return {"description": description, "schema": {"type": kind}, "example": value}


HEADERS: Mapping[str, Mapping[str, Any]] = {
    "X-Request-ID": _header(
        "Id of the request, which the logs have: the caller's own `X-Request-ID` where it sent a "
        "well-formed one, else a new one.",
        "3f0c9a17e2d85b36c0a7914ed3f8625b",
    ),
    "RateLimit-Policy": _header(
        "Requests (`q`) within a window of seconds (`w`), with the name of the group that the operation "
        "counts in. Left out where the operator has turned limits off.",
        '"quotes";q=60;w=60',
    ),
    "RateLimit": _header(
        "Requests that remain (`r`) and seconds until all are back (`t`). Left out where the operator has "
        "turned limits off.",
        '"quotes";r=59;t=60',
    ),
    "Retry-After": _header("Seconds after which the same request may succeed.", "1", "integer"),
    "ETag": _header("Strong tag of this answer, for `If-None-Match`.", '"5c1f4a0b9e7d43268f0a1b2c3d4e5f60"'),
    "Cache-Control": _header(
        "`no-store`, or how long a cache may keep the answer.",
        "public, max-age=5",
    ),
    "WWW-Authenticate": _header("How to send a key: `Bearer`.", "Bearer"),
}
_EVERY = ("X-Request-ID", "RateLimit-Policy", "RateLimit", "Cache-Control")


def headers(*more: str) -> dict[str, Any]:
    """References to the headers of every answer and to ``more``."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_EVERY, *more)}


IF_NONE_MATCH: Mapping[str, Any] = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "description": "The `ETag` of an earlier answer: the answer is 304 without a body while it is the same.",
    "schema": {"type": "string"},
}
NOT_MODIFIED: Mapping[str, Any] = {
    "description": "The answer is the one that `If-None-Match` names.",
    "headers": headers("ETag"),
}
LAST_EVENT_ID: Mapping[str, Any] = {
    "in": "header",
    "name": "Last-Event-ID",
    "required": False,
    "description": "The `id` of the last event that the client has. An `EventSource` sends it by itself.",
    "schema": {"type": "string"},
}
STREAM_OVER: Mapping[str, Any] = {
    "description": "`Last-Event-ID` is that of the end of a stream whose topics have all had their last "
    "event: there is nothing to connect to again.",
    "headers": headers(),
}
NOTHING: Mapping[str, Any] = {
    "description": "Every call was a notification: there is nothing to answer.",
    "headers": headers(),
}


def _error(description: str, *more: str) -> Mapping[str, Any]:
    return {
        "description": description,
        "headers": headers(*more),
        "content": {"application/json": {"schema": "Error"}},
    }


_OF_STATUS: Mapping[int, str] = {
    400: "MalformedRequest",
    401: "Unauthorized",
    403: "PolicyRefused",
    404: "NotFound",
    408: "BodyTimeout",
    413: "BodyTooLarge",
    415: "UnsupportedMediaType",
    421: "HostRefused",
    422: "InvalidRequest",
    429: "RateLimited",
    502: "UpstreamError",
    503: "ProviderUnavailable",
}
_NOT_FOUND: Mapping[str, str] = {
    "quoteId": "QuoteNotFound",
    "txId": "TransactionNotFound",
    "poolId": "PoolNotFound",
    "vaultId": "VaultNotFound",
}
"""By the variable of the path."""

ERRORS: Mapping[str, Mapping[str, Any]] = {
    "MalformedRequest": _error("`invalid_request`: the body is no JSON of the declared form."),
    "Unauthorized": _error(
        "`unauthorized`: this deployment requires a key, and the request has none or a wrong one.",
        "WWW-Authenticate",
    ),
    "PolicyRefused": _error(
        "`validation_error`: the custody policy of the deployment does not allow the action "
        "(`policy_refused`), and `details.violations` says why; or the API key gets no quotes and actions of "
        "the provider (`provider_not_allowed`)."
    ),
    "NotFound": _error("`not_found`: nothing here has this id."),
    "QuoteNotFound": _error(
        "`not_found`: the quote has expired (`quote_expired`) or is not of this deployment (`quote_invalid`)."
    ),
    "TransactionNotFound": _error(
        "`not_found`: the txId has expired (`quote_expired`) or is not of this deployment (`quote_invalid`), "
        "or no enabled bridge knows the transaction."
    ),
    "PoolNotFound": _error(
        "`not_found`: no enabled provider knows the pool, or the `quoteId` of the body has expired "
        "(`quote_expired`) or is not of this deployment (`quote_invalid`)."
    ),
    "VaultNotFound": _error(
        "`not_found`: no enabled provider knows the vault, or the `quoteId` of the body has expired "
        "(`quote_expired`) or is not of this deployment (`quote_invalid`)."
    ),
    "BodyTimeout": _error("`invalid_request`: the body did not arrive in time."),
    "BodyTooLarge": _error("`invalid_request`: the body is larger than the deployment allows."),
    "UnsupportedMediaType": _error("`invalid_request`: the body is not declared as UTF-8 JSON."),
    "HostRefused": _error(
        "`invalid_request`: the `Host` of the request is no name that this deployment answers for."
    ),
    "InvalidRequest": _error(
        "`validation_error`: members are refused. `details.fields` names each with its reason, such as "
        "`missing`, `unknown_member`, `invalid_format`, `out_of_range`, `conflict` or `unsupported_network`."
    ),
    "RateLimited": _error(
        "`rate_limit_exceeded`: more requests than the limit of this key or address.", "Retry-After"
    ),
    "UpstreamError": _error(
        "`upstream_error`: a provider or a node failed, has no route, or no longer meets the quote. "
        "`details.reason` says which, such as `no_route`, `insufficient_liquidity`, `price_moved`, "
        "`provider_timeout`, `rpc_error` or `behind`.",
        "Retry-After",
    ),
    "ProviderUnavailable": _error(
        "`provider_unavailable`: no enabled provider serves this on this network (`capability_disabled`), or "
        "the service is starting.",
        "Retry-After",
    ),
    "OtherError": _error("Any other error, in the same envelope: `code` and `details.reason` say which."),
}


def name_of(status: int, path: str) -> str:
    """The error response of an operation with this status."""
    if status == 404:
        return next((name for variable, name in _NOT_FOUND.items() if f"{{{variable}}}" in path), "NotFound")
    return _OF_STATUS[status]
