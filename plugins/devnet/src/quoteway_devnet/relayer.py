"""A relayer of the bridge between the two chains: it fills deposits and refunds expired ones.

It serves the suggested-fees API (``relayer_api``), watches the deposits of both SpokePools and fills each on
the other chain with its own tokens. A deposit whose fill deadline passes unfilled is refunded the way Across
does it, by a root bundle on the chain it came from. ``Conduct`` makes it slower or idle. All state is
read from the chains, so after ``evm_revert`` or a reorg it only reads again.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from quoteway.evm.abi import decode, encode, encode_call, event_topic
from quoteway.evm.address import keccak256

from quoteway_devnet.bridge import RELAYER
from quoteway_devnet.chains import Devnet
from quoteway_devnet.relayer_api import Conduct, FeeService, serving
from quoteway_devnet.rpc import Rpc, RpcError

log = logging.getLogger("quoteway.devnet.relayer")

POLL_S = 0.1
_RETRY_S = 1.0
_GAS = 1_000_000

_RELAY = "(bytes32,bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,bytes)"
"""V3SpokePoolInterface.V3RelayData."""
_DEPOSITED = (
    "FundsDeposited(bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,uint32,"
    "bytes32,bytes32,bytes32,bytes)"
)
_DEPOSITED_DATA = (
    *("bytes32", "bytes32", "uint256", "uint256", "uint32", "uint32", "uint32"),
    *("bytes32", "bytes32", "bytes"),
)
_BUNDLE_RELAYED = "RelayedRootBundle(uint32,bytes32,bytes32)"
_LEAF = "(uint256,uint256,uint256[],uint32,address,address[])"
"""SpokePoolInterface.RelayerRefundLeaf."""
_REFUND_EXECUTED = (
    "ExecutedRelayerRefundRoot(uint256,uint256,uint256[],uint32,uint32,address,address[],bool,address)"
)
_FILLED = 2


@dataclass
class _Deposit:
    """A deposit that is not known to be filled or refunded."""

    origin: str
    destination: str
    relay: tuple[Any, ...]
    relay_hash: bytes
    fill_deadline: int
    seen_at: float = field(default_factory=time.monotonic)
    not_before: float = 0.0
    sent: str | None = None


class Relayer:
    """A running relayer at ``url``; ``behave`` changes its conduct at any time."""

    def __init__(self, devnet: Devnet, port: int) -> None:
        self._devnet = devnet
        self._pools = {slug: chain.contracts["SpokePool"] for slug, chain in devnet.chains.items()}
        self._slugs = {chain.chain_id: slug for slug, chain in devnet.chains.items()}
        self._heads: dict[str, tuple[int, str]] = {}
        self._times: dict[str, int] = {}
        self._open: dict[bytes, _Deposit] = {}
        self._rpcs: Mapping[str, Rpc] = {}
        self._ended = threading.Event()
        self.rounds = 0
        """How often it has read both chains and acted."""
        self.fees = FeeService(devnet)
        self.port = port

    @property
    def url(self) -> str:
        """Base URL of the API (``/api``) and of the conduct (``/conduct``)."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        """Base URL of the suggested-fees API."""
        return f"{self.url}/api"

    @property
    def conduct(self) -> Conduct:
        return self.fees.conduct

    def behave(self, **changes: Any) -> None:
        """Change members of ``Conduct``: ``behave(filling=False)``."""
        self.fees.conduct = replace(self.fees.conduct, **changes)

    @classmethod
    @contextmanager
    def running(cls, devnet: Devnet, port: int = 0) -> Iterator[Self]:
        """Relay during the block, in threads; ``port`` 0 is any free port. Raises DevnetError."""
        relayer = cls(devnet, port)
        with ExitStack() as stack:
            relayer.port = stack.enter_context(serving(relayer.fees, port))
            thread = threading.Thread(target=relayer._watch, name="devnet relayer", daemon=True)
            thread.start()
            try:
                yield relayer
            finally:
                relayer._ended.set()
                thread.join(timeout=5)

    @classmethod
    @asynccontextmanager
    async def start(cls, devnet: Devnet, port: int = 0) -> AsyncIterator[Self]:
        """``running`` for coroutines."""
        block = cls.running(devnet, port)
        relayer = block.__enter__()
        try:
            yield relayer
        finally:
            await asyncio.to_thread(block.__exit__, None, None, None)

    def _watch(self) -> None:
        with ExitStack() as stack:
            self._rpcs = {slug: stack.enter_context(self._devnet.rpc(slug)) for slug in self._pools}
            failing = False
            while not self._ended.wait(POLL_S):
                try:
                    with self._devnet.quiet:
                        self._tick()
                    self.rounds += 1
                    failing = False
                except (OSError, RpcError, ValueError, KeyError) as error:
                    # The chains may be stopping or reverting.
                    if not failing:
                        log.warning("the relayer cannot read the chains: %s", error)
                    failing = True

    def _tick(self) -> None:
        for slug in self._pools:
            self._read_deposits(slug)
        for deposit in list(self._open.values()):
            if time.monotonic() >= deposit.not_before:
                self._settle(deposit)

    # --- deposits ----------------------------------------------------------------------------------------

    def _read_deposits(self, slug: str) -> None:
        """Read the deposits since the last read; read all again when that block was reverted."""
        rpc = self._rpcs[slug]
        head = rpc("eth_getBlockByNumber", "latest", False)
        number, block_hash = int(head["number"], 16), head["hash"]
        self._times[slug] = int(head["timestamp"], 16)
        known = self._heads.get(slug)
        if known is not None and known[1] == block_hash:
            return
        if known is None:
            rpc("anvil_impersonateAccount", RELAYER)
            start = 0
        else:
            there = rpc("eth_getBlockByNumber", hex(known[0]), False)
            start = known[0] + 1
            if there is None or there["hash"] != known[1]:
                self._heads.clear()
                self._open.clear()
                return
        topic = event_topic(_DEPOSITED)
        wanted = {
            "address": self._pools[slug],
            "topics": [topic],
            "fromBlock": hex(start),
            "toBlock": hex(number),
        }
        for entry in rpc("eth_getLogs", wanted):
            deposit = self._deposit(slug, entry)
            if deposit is not None:
                self._open.setdefault(deposit.relay_hash, deposit)
        self._heads[slug] = number, block_hash

    def _deposit(self, slug: str, entry: Mapping[str, Any]) -> _Deposit | None:
        chain_id, deposit_id = (int(topic, 16) for topic in entry["topics"][1:3])
        depositor = bytes.fromhex(entry["topics"][3][2:])
        destination = self._slugs.get(chain_id)
        if destination is None or destination == slug:
            return None
        values = decode(_DEPOSITED_DATA, bytes.fromhex(entry["data"][2:]))
        token_in, token_out, amount_in, amount_out, _, fill_deadline, exclusive_until, *rest = values
        recipient, relayer, message = rest
        origin_id = self._devnet.chains[slug].chain_id
        relay = (
            *(depositor, recipient, relayer, token_in, token_out, amount_in, amount_out),
            *(origin_id, deposit_id, fill_deadline, exclusive_until, message),
        )
        relay_hash = keccak256(encode([_RELAY, "uint256"], [relay, chain_id]))
        return _Deposit(slug, destination, relay, relay_hash, fill_deadline)

    # --- fills and refunds -------------------------------------------------------------------------------

    def _settle(self, deposit: _Deposit) -> None:
        pool, rpc = self._pools[deposit.destination], self._rpcs[deposit.destination]
        if deposit.sent is not None:
            receipt = rpc("eth_getTransactionReceipt", deposit.sent)
            if receipt is None and rpc("eth_getTransactionByHash", deposit.sent) is not None:
                return  # not mined yet
            deposit.sent = None
        status = rpc("eth_call", _call(pool, "fillStatuses(bytes32)", deposit.relay_hash), "latest")
        if int(status, 16) == _FILLED:
            del self._open[deposit.relay_hash]
        elif max(self._times[deposit.destination], int(time.time())) > deposit.fill_deadline:
            self._refund(deposit)
        elif self.conduct.filling and time.monotonic() - deposit.seen_at >= self.conduct.delay_s:
            self._fill(deposit)

    def _fill(self, deposit: _Deposit) -> None:
        pool, rpc = self._pools[deposit.destination], self._rpcs[deposit.destination]
        token, amount = _address(deposit.relay[4]), deposit.relay[6]
        chain_id = self._devnet.chains[deposit.destination].chain_id
        fill = _call(
            pool,
            f"fillRelay({_RELAY},uint256,bytes32)",
            *(deposit.relay, chain_id, encode(["address"], [RELAYER])),
        )
        if self.fees.balance(rpc, token) < amount or not self._succeeds(rpc, fill):
            deposit.not_before = time.monotonic() + _RETRY_S
            return
        deposit.sent = rpc("eth_sendTransaction", fill)

    def _refund(self, deposit: _Deposit) -> None:
        """Refund the deposit as the bridge's settlement does: a bundle of one leaf, and its execution."""
        deposit.not_before = time.monotonic() + _RETRY_S
        if not self.conduct.refunding:
            return
        pool, rpc = self._pools[deposit.origin], self._rpcs[deposit.origin]
        depositor, token, amount, deposit_id = (deposit.relay[at] for at in (0, 3, 5, 8))
        origin_id = self._devnet.chains[deposit.origin].chain_id
        # The deposit's id as the leaf's id makes the root of each refund unique.
        leaf = (0, origin_id, [amount], deposit_id, _address(token), [_address(depositor)])
        root = keccak256(encode([_LEAF], [leaf]))
        topics = [event_topic(_BUNDLE_RELAYED), None, "0x" + root.hex()]
        wanted = {"address": pool, "topics": topics, "fromBlock": "0x0", "toBlock": "latest"}
        bundles = rpc("eth_getLogs", wanted)
        if not bundles:
            relay = _call(pool, "relayRootBundle(bytes32,bytes32)", root, bytes(32))
            if self._succeeds(rpc, relay):
                rpc("eth_sendTransaction", relay)
                deposit.not_before = 0.0
            return
        bundle = int(bundles[0]["topics"][1], 16)
        topics = [event_topic(_REFUND_EXECUTED), None, f"0x{bundle:064x}"]
        if rpc("eth_getLogs", wanted | {"topics": topics}):
            self._open.pop(deposit.relay_hash, None)
            return
        execute = _call(pool, f"executeRelayerRefundLeaf(uint32,{_LEAF},bytes32[])", *(bundle, leaf, []))
        if self._succeeds(rpc, execute):
            rpc("eth_sendTransaction", execute)

    @staticmethod
    def _succeeds(rpc: Rpc, transaction: dict[str, str]) -> bool:
        try:
            rpc("eth_call", transaction, "latest")
        except RpcError as error:
            log.info("the relayer does not send a transaction that would revert: %s", error)
            return False
        return True


def _address(word: bytes) -> str:
    """Returns the address that a bytes32 member holds."""
    (address,) = decode(["address"], word)
    return str(address)


def _call(to: str, signature: str, *values: Any) -> dict[str, str]:
    data = "0x" + encode_call(signature, values).hex()
    return {"from": RELAYER, "to": to, "data": data, "gas": hex(_GAS)}
