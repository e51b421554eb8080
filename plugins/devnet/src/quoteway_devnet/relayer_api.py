"""The relayer's fees as the bridge's HTTP API: ``/api/suggested-fees``, ``/api/limits`` and
``/api/available-routes``.

Members and error codes are those of app.across.to/api. The fee is the sum of the
relayer's capital fee, the liquidity pool's share, and the gas of the fill at the destination's gas price.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import permutations
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from quoteway import NATIVE
from quoteway.evm.abi import encode_call

from quoteway_devnet.bridge import RELAYER, bridged_tokens
from quoteway_devnet.chains import Devnet
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.rpc import Rpc
from quoteway_devnet.tables import NATIVE_SYMBOL, TokenRow, base_units, token_row

CAPITAL_FEE_BPS = 2
LP_FEE_BPS = 1
MAX_FEE_BPS = 1000
"""The highest fee: a smaller transfer, which would lose more, is refused as too low."""
_FILL_GAS = 130_000
_TIP_WEI = 10**9
_FILL_TIME_S = 2
_BPS = 10_000
_PCT = 10**18
"""The API's percentages: 10^18 is the whole."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """The relayer's behaviour; by default it fills everything at once.

    ``delay_s`` is the delay of each fill; ``filling`` and ``refunding`` switch these off; ``liquid`` false:
    it has no tokens. ``fill_deadline_s`` and ``exclusivity_s`` are suggested relative to now.
    """

    delay_s: float = 0.0
    filling: bool = True
    refunding: bool = True
    liquid: bool = True
    fill_deadline_s: int = 7200
    exclusivity_s: int = 0


class ApiError(Exception):
    """An error of status 400 with one of the API's codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.body = {"type": "AcrossApiError", "code": code, "status": 400, "message": message}


class FeeService:
    """Answers the API's requests from the state of both chains."""

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet
        self._slugs = {str(chain.chain_id): slug for slug, chain in devnet.chains.items()}
        self.conduct = Conduct()

    def balance(self, rpc: Rpc, token: str) -> int:
        """Return the relayer's liquidity of ``token`` on the chain of ``rpc``, in base units."""
        if not self.conduct.liquid:
            return 0
        data = "0x" + encode_call("balanceOf(address)", [RELAYER]).hex()
        return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    def routes(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the routes that match the query."""
        rows = []
        for origin, destination in permutations(self._devnet.chains.values(), 2):
            for token in bridged_tokens():
                row = {
                    "originChainId": origin.chain_id,
                    "originToken": origin.token(token.symbol).address,
                    "destinationChainId": destination.chain_id,
                    "destinationToken": destination.token(token.symbol).address,
                    "originTokenSymbol": token.symbol,
                    "destinationTokenSymbol": token.symbol,
                    "isNative": False,
                }
                rows.append(row)
                if token.behaviour == "wrapped":
                    native = {
                        "originTokenSymbol": NATIVE_SYMBOL,
                        "destinationTokenSymbol": NATIVE_SYMBOL,
                        "isNative": True,
                    }
                    rows.append(row | native)
        return [
            row
            for row in rows
            if all(str(row[name]).lower() == value.lower() for name, value in query.items() if name in row)
        ]

    def suggested_fees(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the terms of one transfer. Raises ApiError."""
        origin, destination, row = self._route(query)
        amount = _amount(query)
        with self._devnet.rpc(origin) as rpc:
            now_s = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        side = self._destination(destination, row)
        head, gas = side.head, side.gas
        if amount > side.liquid:
            raise ApiError("AMOUNT_TOO_HIGH", f"Amount exceeds max. deposit limit: {side.liquid}")
        if amount < side.lowest:
            raise ApiError("AMOUNT_TOO_LOW", "Sent amount is too low relative to fees")
        capital, lp = (-(-amount * bps // _BPS) for bps in (CAPITAL_FEE_BPS, LP_FEE_BPS))
        total = capital + lp + gas
        conduct = self.conduct
        exclusive = conduct.exclusivity_s > 0
        return {
            "estimatedFillTimeSec": _FILL_TIME_S + int(conduct.delay_s),
            "timestamp": str(now_s),
            "isAmountTooLow": False,
            "quoteBlock": str(int(head["number"], 16)),
            "exclusiveRelayer": RELAYER if exclusive else NATIVE,
            "exclusivityDeadline": now_s + conduct.exclusivity_s if exclusive else 0,
            "fillDeadline": str(max(int(time.time()), int(head["timestamp"], 16)) + conduct.fill_deadline_s),
            "spokePoolAddress": self._devnet.chains[origin].contracts["SpokePool"],
            "destinationSpokePoolAddress": self._devnet.chains[destination].contracts["SpokePool"],
            "outputAmount": str(amount - total),
            "totalRelayFee": _fee(total, amount),
            "relayerCapitalFee": _fee(capital, amount),
            "relayerGasFee": _fee(gas, amount),
            "lpFee": _fee(lp, amount),
            "limits": side.limits(),
        }

    def limits(self, query: Mapping[str, str]) -> dict[str, str]:
        """Return the current limits of ``suggested_fees`` on a route. Raises ApiError."""
        _, destination, row = self._route(query)
        return self._destination(destination, row).limits()

    def _destination(self, destination: str, row: TokenRow) -> "_Destination":
        token_out = self._devnet.chains[destination].token(row.symbol).address
        with self._devnet.rpc(destination) as rpc:
            head = rpc("eth_getBlockByNumber", "latest", False)
            liquid = self.balance(rpc, token_out)
        gas_wei = _FILL_GAS * (int(head["baseFeePerGas"], 16) + _TIP_WEI)
        gas = base_units(row.symbol, gas_wei * token_row(NATIVE_SYMBOL).price / 10**18) + 1
        return _Destination(head, liquid, gas)

    def _route(self, query: Mapping[str, str]) -> tuple[str, str, TokenRow]:
        try:
            ends = query["originChainId"], query["destinationChainId"]
            token_in, token_out = query["inputToken"], query["outputToken"]
        except KeyError as error:
            raise ApiError("MISSING_PARAM", f"Missing {error}") from None
        wanted = {"originChainId": ends[0], "destinationChainId": ends[1]}
        found = self.routes(wanted | {"originToken": token_in, "destinationToken": token_out})
        if not found:
            raise ApiError("ROUTE_NOT_ENABLED", "Route is not enabled")
        row = next(row for row in bridged_tokens() if row.symbol == found[0]["originTokenSymbol"])
        return self._slugs[ends[0]], self._slugs[ends[1]], row


@dataclass(frozen=True, slots=True)
class _Destination:
    """The destination now: its newest block, the relayer's liquidity, and the gas cost of a fill in base
    units of the token."""

    head: Mapping[str, Any]
    liquid: int
    gas: int

    @property
    def lowest(self) -> int:
        """The smallest amount whose fees, two of them rounded up, are within ``MAX_FEE_BPS``."""
        return -(-(self.gas + 2) * _BPS // (MAX_FEE_BPS - CAPITAL_FEE_BPS - LP_FEE_BPS))

    def limits(self) -> dict[str, str]:
        most = ("maxDeposit", "maxDepositInstant", "maxDepositShortDelay", "recommendedDepositInstant")
        return {"minDeposit": str(self.lowest)} | dict.fromkeys(most, str(self.liquid))


def _amount(query: Mapping[str, str]) -> int:
    try:
        return int(query["amount"])
    except KeyError as error:
        raise ApiError("MISSING_PARAM", f"Missing {error}") from None
    except ValueError:
        raise ApiError("INVALID_PARAM", "Invalid amount") from None


def _fee(total: int, amount: int) -> dict[str, str]:
    return {"pct": str(total * _PCT // amount), "total": str(total)}


@contextmanager
def serving(fees: FeeService, port: int) -> Iterator[int]:
    """Serve on 127.0.0.1 during the block; yields the port. Raises DevnetError when it is taken."""

    class Handler(_Handler):
        service = fees

    try:
        server = _Server(("127.0.0.1", port), Handler)
    except OSError:
        raise DevnetError(
            f"Port {port} of the devnet's relayer is taken by another program; "
            "stop that program or choose another port."
        ) from None
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="relayer api", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    # The default of five refuses connections under load, and clients retry only after a second.
    request_queue_size = 64


class _Handler(BaseHTTPRequestHandler):
    service: FeeService
    protocol_version = "HTTP/1.1"
    timeout = 30
    # Otherwise the body waits 40 ms for the acknowledgement of the headers.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer fees, limits, routes and conduct."""
        address = urlsplit(self.path)
        query = dict(parse_qsl(address.query))
        try:
            if address.path == "/api/suggested-fees":
                self._answer(200, self.service.suggested_fees(query))
            elif address.path == "/api/limits":
                self._answer(200, self.service.limits(query))
            elif address.path == "/api/available-routes":
                self._answer(200, self.service.routes(query))
            elif address.path == "/conduct":
                self._answer(200, asdict(self.service.conduct))
            else:
                self._answer(404, {"message": "no such path"})
        except ApiError as error:
            self._answer(400, error.body)
        except (OSError, RuntimeError) as error:
            self._answer(502, {"type": "AcrossApiError", "code": "UPSTREAM_RPC_ERROR", "message": str(error)})

    def do_POST(self) -> None:
        """Change the conduct: a JSON object of its members."""
        try:
            changes = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
            known = {field.name for field in fields(Conduct)}
            if self.path != "/conduct" or not isinstance(changes, dict) or not changes.keys() <= known:
                raise ValueError
            self.service.conduct = replace(self.service.conduct, **changes)
        except ValueError:
            self._answer(400, {"message": "expected POST /conduct with members of Conduct"})
            return
        self._answer(200, asdict(self.service.conduct))

    def _answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name
        """Say nothing."""
