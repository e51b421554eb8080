"""What nodes and providers answer when a call fails, as data: the first row that matches decides.

Sources: JSON-RPC 2.0 section 5.1, EIP-1474, EIP-1898, EIP-4444, execution-apis (``eth_simulateV1``, error
groups), the clients' source code and the providers' error pages. ``DIALECTS`` names who uses a row's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a request to one upstream ended. ``ANSWERED``, ``CALLER`` and ``UNKNOWN`` come from the node alone.

    ``caller``: the request is wrong or reverts. ``capacity``: too many requests for this upstream.
    ``data_missing``: it lags, or has pruned what is asked. ``too_large``: a range or answer over its limit.
    ``unknown``: an error that no row names. ``integrity``: it is of another chain, or lied.
    ``cancelled``: nobody waited for the answer any more.
    """

    ANSWERED = "answered"
    CALLER = "caller"
    CAPACITY = "capacity"
    DATA_MISSING = "data_missing"
    NODE_FAULT = "node_fault"
    AUTHORISATION = "authorisation"
    METHOD_MISSING = "method_missing"
    TOO_LARGE = "too_large"
    UNKNOWN = "unknown"
    TIMEOUT = "timeout"
    INTEGRITY = "integrity"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of error object. ``codes`` empty: any code. ``text`` is searched in the lower-case message.

    ``methods`` empty: any method.
    """

    outcome: Outcome
    text: re.Pattern[str] | None
    codes: frozenset[int] = frozenset()
    methods: frozenset[str] = frozenset()
    dialects: tuple[str, ...] = ()

    def matches(self, code: int, message: str, method: str) -> bool:
        """Whether the row describes this error. ``message`` is in lower case."""
        return (
            (not self.codes or code in self.codes)
            and (not self.methods or method in self.methods)
            and (self.text is None or self.text.search(message) is not None)
        )


def _row(
    outcome: Outcome,
    *texts: str,
    codes: Sequence[int] = (),
    methods: Sequence[str] = (),
    by: str = "",
) -> Row:
    text = re.compile("|".join(texts)) if texts else None
    return Row(outcome, text, frozenset(codes), frozenset(methods), tuple(by.split()))


_LOGS = ("eth_getLogs", "eth_getFilterLogs", "eth_getBlockReceipts")
_SIMULATE_CODES = (*range(-38026, -38019), *range(-38015, -38009))

ROWS: tuple[Row, ...] = (
    # --- the words of a contract come first: whoever deploys one writes them ---
    _row(
        Outcome.CALLER, r"^(?:rpc error: )?(?:error: )?execution reverted", by="geth erigon reth anvil besu"
    ),
    _row(Outcome.CALLER, r"^vm exception while processing", r"^error: vm exception", by="ganache hardhat"),
    _row(Outcome.CALLER, r"^vm execution error", r"^reverted\b", by="nethermind openethereum"),
    _row(Outcome.CALLER, codes=_SIMULATE_CODES, by="execution-apis"),
    # --- the words of a parser may repeat the caller's parameters ---
    _row(
        Outcome.CALLER,
        r"^invalid argument \d",
        r"^missing value for required argument",
        r"^too many arguments, want at most",
        r"^non-array args",
        r"^json: cannot unmarshal",
        r"^invalid (?:address|hex|length|type|opcode|jump|block range params)",
        r"^hex string ",
        r"^cannot unmarshal",
        codes=(-32602, -32600, -32000, 3),
        by="geth erigon",
    ),
    # --- sizes, before "limit exceeded" and "range" of other rows ---
    _row(
        Outcome.TOO_LARGE,
        r"query returned more than \d+ results",  # geth forks, Infura, Alchemy, anvil
        r"query exceeds max results",  # Tenderly, reth
        r"query exceeds max block range",  # reth
        r"exceeds? (?:the )?max(?:imum)? (?:block )?range",
        r"block range (?:is )?(?:too (?:large|wide|big)|limit|exceed)",
        r"(?:exceed|over|maximum|max).{0,20} (?:block )?range",
        r"range (?:is )?(?:too (?:large|wide|big)|limited|over|exceed)",
        r"ranges? over \d+",  # dRPC
        r"range limited",
        r"limited to (?:a |0 - |0-)?[\d,]+ (?:blocks?|range|block range)",  # QuickNode, Ankr, Chainstack
        r"up to a [\d,]+ block range",  # Alchemy
        r"(?:log|logs|response|result) (?:response )?(?:size|set) (?:exceed|is too|too|limit|should)",
        r"query timeout exceeded\. consider reducing your block range",
        r"too many (?:results|logs|blocks)",
        r"(?:more|greater) than [\d,]+ (?:blocks|logs|results)",
        r"block range greater than",
        r"max(?:imum)? (?:is set to|allowed is|number of (?:requested )?blocks)",
        r"requested too many blocks",
        r"please (?:specify|limit|reduce|narrow).{0,40} (?:address|range|query)",
        r"logs are limited",
        methods=_LOGS,
        by="alchemy quicknode infura ankr drpc publicnode chainstack blockpi besu reth erigon cloudflare",
    ),
    # geth's limit on the time of one call, which a caller can reach
    _row(Outcome.TOO_LARGE, r"^execution aborted \(timeout", by="geth"),
    _row(
        Outcome.TOO_LARGE, codes=(-32614, 35, -32701, -32047), methods=_LOGS, by="quicknode drpc publicnode"
    ),
    _row(
        Outcome.TOO_LARGE,
        r"response (?:size )?(?:is )?too (?:large|big)",
        codes=(-32008, -32003),
        by="geth reth",
    ),
    # --- the node lags, is on another branch, or has pruned the state ---
    _row(
        Outcome.DATA_MISSING,
        r"header (?:for hash )?not found",
        r"(?:block|receipts?|body|bodies) (?:[\w#.:]+ )?(?:is |was |are )?not (?:found|available)",
        r"unknown block",
        r"missing trie node",
        r"required historical state",
        r"historical (?:state|backend|data|rpc).{0,80}(?:unavailable|not available|not supported|missing)",
        r"state .{0,80}(?:is|are)? ?(?:not available|unavailable|pruned|missing|not found)",
        r"no state available",
        r"world state unavailable",
        r"pruned|due to pruning|has been pruned",
        r"distance to target block exceeds",
        r"is not currently canonical",
        r"block range extends beyond current head",
        r"request beyond head block",
        r"block (?:number )?(?:is )?(?:out of range|too new|too old|in the future)",
        r"blocks? specified in filter .* cannot be found",
        r"from block is (?:greater|after).{0,20}(?:latest|head)",
        r"cannot query unfinalized data|after last accepted block",
        r"(?:transaction )?indexing is in progress|not (?:yet )?(?:been )?(?:fully )?indexed",
        r"archive (?:node|data|request|mode|access|,)|archival|\barchive\b.{0,40}(?:not|only|require|plan)",
        r"node is (?:still )?(?:syncing|not synced|behind)|(?:not|isn't) (?:yet )?(?:fully )?sync",
        r"snapshot .{0,40}(?:not|missing|unavailable)|layer stale|missing (?:block|header|parent)",
        r"ancient (?:block|data)|before (?:the )?(?:earliest|first|oldest) (?:available )?block",
        r"could not find block|block does not exist|failed to (?:get|load|find) (?:state|block|header)",
        r"blob (?:sidecars? )?not (?:found|available)",
        by="geth erigon nethermind besu reth bsc alchemy infura ankr drpc publicnode proxyd avalanche",
    ),
    _row(Outcome.DATA_MISSING, codes=(4444,), by="execution-apis"),
    # --- too many requests ---
    _row(
        Outcome.CAPACITY,
        r"too many (?:requests?|connections|concurrent|calls|errors)|too many .{0,20}in flight",
        r"rate[ -]?limit|ratelimit|request (?:rate|limit|count)|\brps\b|\bqps\b",
        r"limit (?:reached|exceeded|exhausted)|exceeded .{0,60}(?:limit|capacity|allowance|units|credits)",
        r"quota|credits?\b|compute units|throughput|throttl",
        r"over (?:rate|capacity|limit)|(?:capacity|usage) (?:limit )?(?:exceeded|reached|exhausted)",
        r"(?:server|node|service|system|upstream)s? (?:is |are )?(?:too )?(?:busy|overloaded)",
        r"try again (?:later|in)|retry (?:in|after)|back ?off|slow down",
        r"free (?:tier|plan|usage)|(?:paid|your) (?:plan|tier)|upgrade (?:to|your)",
        r"concurren(?:t|cy) (?:requests?|limit)|queue (?:is )?full|resource exhausted|txpool is full",
        codes=(
            *(-32000, -32001, -32002, -32003, -32005, -32007, -32009, -32010, -32011, -32012, -32014, -32015),
            *(
                -32016,
                -32017,
                -32029,
                -32090,
                -32097,
                -32098,
                -32600,
                -32603,
                -32604,
                -32046,
                429,
                15,
                30,
                33,
            ),
        ),
        by="alchemy infura quicknode ankr drpc publicnode blast chainstack blockpi proxyd bsc",
    ),
    # --- the account of the operator ---
    _row(
        Outcome.AUTHORISATION,
        r"\bun-?authori[sz]ed\b|\bnot authori[sz]ed\b|authori[sz]ation|must be authenticated",
        r"authenticat(?:e|ion)",
        r"(?:invalid|missing|incorrect|wrong|unknown|disabled|expired|no) (?:api[ -]?|access |project |app )"
        r"(?:key|token|id)",
        r"api[ -]?key|access key|project id|app id|forbidden|access denied|permission denied"
        r"|not allowed to access",
        r"(?:account|project|endpoint|key|subscription|app) (?:\S+ )?(?:is |has been |was )?"
        r"(?:suspended|disabled|inactive|expired|blocked|deactivated|not found|unknown)",
        r"payment required|unpaid|billing",
        r"origin (?:is )?not allowed|not (?:in|on) (?:the )?(?:allow|white)-?list|ip .{0,40}not allowed",
        codes=(
            -32000,
            -32001,
            -32002,
            -32003,
            -32005,
            -32016,
            -32051,
            -32052,
            -32600,
            -32603,
            4,
            1,
            401,
            403,
            402,
        ),
        by="alchemy infura quicknode ankr goldsky drpc",
    ),
    _row(Outcome.AUTHORISATION, codes=(401, 402, 403, -32051, -32052), by="ankr hosted"),
    _row(
        Outcome.CAPACITY,
        codes=(429, -32005, -32007, -32029, -32090, -32097, -32016, -32017, 15, 33),
        by="infura quicknode ankr proxyd goldsky drpc",
    ),
    # --- the call itself ---
    _row(
        Outcome.CALLER,
        r"insufficient (?:funds|balance)|upfront cost exceeds|exceeds? (?:account )?balance|overdraft",
        r"nonce (?:too|is too) (?:low|high|far)|nonce .{0,40}(?:max|overflow)|invalid nonce",
        r"already known|known transaction|underpriced|transaction type not supported",
        r"intrinsic gas|gas (?:required )?exceeds|exceeds (?:block )?gas|gas limit|out of gas"
        r"|gas uint64 overflow",
        r"base ?fee|priority fee|fee ?cap|max ?fee|gas ?price",
        r"invalid opcode|opcode .{0,40}not defined|invalid jump|stack (?:underflow|overflow|limit)",
        r"write protection|return data out of bounds|returndata|contract address collision",
        r"(?:max )?(?:init ?)?code size|code storage out of gas|creation code",
        r"sender (?:is )?not (?:an )?eoa|precompile|invalid signature|unsupported (?:type|tx)",
        r"^err: .*\(supplied gas|revert|evm (?:error|execution)|always failing transaction",
        r"both .{0,40}(?:specified|set|provided)|cannot (?:specify|use) both|invalid (?:from|to) ?block",
        r"(?:state|block) ?overrides?|override",
        codes=(-32000, -32003, -32004, -32010, -32015, -32603, 3),
        by="geth erigon nethermind besu reth anvil hardhat openethereum",
    ),
    _row(Outcome.CALLER, codes=(3, -32602), by="geth erigon nethermind besu reth anvil"),
    # --- methods ---
    _row(
        Outcome.METHOD_MISSING,
        r"method .{0,60}(?:not found|not supported|not available|does not exist|unsupported"
        r"|not allowed|disabled"
        r"|not whitelisted|is not (?:a )?(?:valid|enabled))|^(?:unsupported|unknown|invalid) method",
        r"not (?:yet )?implemented|module .{0,40}(?:disabled|not enabled)|namespace .{0,40}not",
        by="geth erigon nethermind besu reth anvil alchemy quicknode",
    ),
    _row(Outcome.METHOD_MISSING, codes=(-32601, -32004), by="json-rpc eip-1474"),
    # --- time and faults of the node ---
    _row(
        Outcome.TIMEOUT,
        r"tim(?:ed|e|ing)[ -]?out|timeout|deadline exceeded|context (?:canceled|cancelled)",
        by="geth erigon drpc proxyd goldsky",
    ),
    _row(
        Outcome.NODE_FAULT,
        r"internal (?:server |json-rpc |jsonrpc |node |rpc )?(?:error|exception)"
        r"|method handler crashed|panic",
        r"service (?:is )?(?:temporarily )?unavailable|temporar(?:y|ily)|no (?:healthy "
        r"|available )?(?:backend|upstream|node)"
        r"|backend|bad gateway|gateway",
        r"can'?t route|cannot fulfill request|request failed|failed to (?:fetch|forward|send)|upstream",
        r"connection (?:refused|reset|closed|error)|broken pipe|unexpected eof|eof$|network error"
        r"|dial tcp|socket",
        r"database|mdbx|leveldb|pebble|rocksdb|corrupt|out of memory|i/o error|unknown error"
        r"|something went wrong"
        r"|unexpected error|server (?:error|closed|shutting)|shutting down|maintenance",
        codes=(
            *(-32000, -32002, -32003, -32010, -32011, -32012, -32013, -32014, -32015, -32018, -32020, -32046),
            *(-32098, -32099, -32600, -32603, -32700, 12, 19, 500, 502, 503, 504),
        ),
        by="geth erigon besu reth proxyd drpc cloudflare llamarpc",
    ),
    _row(
        Outcome.NODE_FAULT,
        codes=(
            -32603,
            -32002,
            -32010,
            -32011,
            -32012,
            -32013,
            -32018,
            -32020,
            -32046,
            12,
            19,
            500,
            502,
            503,
            504,
        ),
        by="json-rpc eip-1474 proxyd drpc",
    ),
    _row(Outcome.TIMEOUT, codes=(-32015, 30), by="goldsky proxyd drpc"),
    _row(Outcome.DATA_MISSING, codes=(-32001, -32014, -32019), by="eip-1474 goldsky proxyd"),
)

DIALECTS = frozenset(name for row in ROWS for name in row.dialects)
