"""The running devnet: two chains, for Python code and tests."""

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

from quoteway import NATIVE, Token
from quoteway.evm.address import checksum

from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.anvil import BASE_FEE_WEI, Anvil, free_port
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.manifest import ChainManifest, chain_manifests
from quoteway_devnet.rpc import Rpc
from quoteway_devnet.state import ready_state
from quoteway_devnet.tables import CHAINS, NATIVE_SYMBOL
from quoteway_devnet.vaults import accrue_yield

_ATTEMPTS_ON_FREE_PORTS = 3
_MINED_S = 1.0
"""A transaction that has not been mined after so long is not being mined."""


class Devnet:
    """Chains while they run. Its methods block: coroutines call them through ``asyncio.to_thread``.

    ``chains`` are their contents by slug, by default those of ``devnet`` and ``devnet-l2``.
    """

    def __init__(self, ports: Mapping[str, int], chains: Mapping[str, ChainManifest] | None = None) -> None:
        self.ports = dict(ports)
        self.chains: Mapping[str, ChainManifest] = chains or chain_manifests()
        self.quiet = threading.Lock()
        """Held during ``snapshot`` and ``revert``, and by a thread while it sends transactions of its own."""

    @property
    def urls(self) -> dict[str, str]:
        """JSON-RPC endpoints by slug."""
        return {slug: f"http://127.0.0.1:{port}" for slug, port in self.ports.items()}

    def rpc(self, slug: str = "devnet") -> Rpc:
        """A new JSON-RPC client of one chain."""
        return Rpc(self.ports[slug])

    @classmethod
    @contextmanager
    def running(
        cls, ports: Mapping[str, int] | None = None, report: Callable[[str], None] | None = None
    ) -> Iterator[Self]:
        """Run both chains during the block, on ``ports`` by slug, or on free ones.

        The first call on a machine fetches and builds (seconds), later ones load a dump. ``report`` takes the
        progress messages of the fetch, which go to standard error without it. Raises DevnetError.
        """
        state = ready_state(report)
        for attempt in range(1, _ATTEMPTS_ON_FREE_PORTS + 1):
            chosen = dict(ports) if ports else {chain.slug: free_port() for chain in CHAINS}
            processes: list[Anvil] = []
            try:
                for chain in CHAINS:
                    dump = state.dumps[chain.slug]
                    processes.append(Anvil.launch(state.anvil, chain.chain_id, chosen[chain.slug], dump))
                manifests = chain_manifests()
                for chain, process in zip(CHAINS, processes, strict=True):
                    process.wait()
                    _mine_history(process, manifests[chain.slug])
                break
            except BaseException as error:
                for process in processes:
                    process.stop()
                # A free port is only free until another process takes it.
                if ports or not isinstance(error, DevnetError) or attempt == _ATTEMPTS_ON_FREE_PORTS:
                    raise
        try:
            yield cls(chosen)
        finally:
            for process in processes:
                process.stop()

    @classmethod
    @asynccontextmanager
    async def start(
        cls, ports: Mapping[str, int] | None = None, report: Callable[[str], None] | None = None
    ) -> AsyncIterator[Self]:
        """``running`` for coroutines: start and stop do not block the event loop."""
        block = cls.running(ports, report)
        entering = asyncio.get_running_loop().run_in_executor(None, block.__enter__)
        try:
            devnet = await asyncio.shield(entering)
        except asyncio.CancelledError:
            # The thread cannot be interrupted: its chains are stopped once they run.
            def leave(entered: asyncio.Future[Self]) -> None:
                if entered.exception() is None:
                    block.__exit__(None, None, None)

            entering.add_done_callback(leave)
            raise
        try:
            yield devnet
        finally:
            await asyncio.to_thread(block.__exit__, None, None, None)

    @classmethod
    def attach(cls, ports: Mapping[str, int], timeout_s: float = 60.0) -> Self:
        """Wait for chains that another process runs. Raises DevnetError when they do not answer."""
        deadline = time.monotonic() + timeout_s
        for chain in CHAINS:
            while True:
                try:
                    with Rpc(ports[chain.slug], timeout_s=2.0) as rpc:
                        answer = int(rpc("eth_chainId"), 16)
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise DevnetError(
                            f"No chain {chain.chain_id} answers on port {ports[chain.slug]}; "
                            "start it with `quoteway devnet`."
                        ) from None
                    time.sleep(0.05)
            if answer != chain.chain_id:
                raise DevnetError(
                    f"Port {ports[chain.slug]} serves chain {answer}, expected {chain.chain_id}; "
                    "stop what runs there or choose other ports."
                )
        return cls(ports)

    def token(self, symbol: str, slug: str = "devnet") -> Token:
        """Return a token as the gateway models it; ``ETH`` is the native coin. Raises KeyError."""
        chain = self.chains[slug]
        if symbol == NATIVE_SYMBOL:
            return Token(chain.chain_id, NATIVE, 18, symbol)
        row = chain.token(symbol)
        return Token(chain.chain_id, row.address, row.decimals, symbol)

    def snapshot(self) -> dict[str, str]:
        """Save the state of every chain for ``revert``."""
        with self.quiet:
            return {slug: self._once(slug, "evm_snapshot") for slug in self.ports}

    def revert(self, snapshot: Mapping[str, str]) -> None:
        """Restore a snapshot of every chain. A snapshot can be used once.

        Transactions that wait are mined first or dropped: a node that mines a block while it reverts keeps
        that block, and loses the one before it.
        """
        with self.quiet:
            for slug, identity in snapshot.items():
                self._empty_pool(slug)
                if self._once(slug, "evm_revert", identity) is not True:
                    raise DevnetError(
                        f"{slug} has no snapshot {identity}; a snapshot can be reverted to only once."
                    )

    @contextmanager
    def restored(self) -> Iterator[Self]:
        """Restore the chains after the block to their state before it.

        Its newest block was never mined before: the node loses the state of a block that is mined upon, and
        reverted to, some twenty times.
        """
        snapshot = self.snapshot()
        try:
            for slug in self.chains:
                self.diverge(slug)
            yield self
        finally:
            self.revert(snapshot)

    def _empty_pool(self, slug: str) -> None:
        with self.rpc(slug) as rpc:
            deadline = time.monotonic() + _MINED_S
            while int(rpc("txpool_status")["pending"], 16) and rpc("anvil_getAutomine"):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.001)
            rpc("anvil_dropAllTransactions")

    def diverge(self, slug: str = "devnet") -> None:
        """Mine a block that was never mined before, so that ``anvil_reorg`` works on those after it.

        Blocks that are mined again after ``revert`` may have the hashes of those before it. The node keeps
        states by hash, and forgets the new block's state with the old one's.
        """
        value = hex(secrets.randbits(64))
        with self.rpc(slug) as rpc:
            rpc.send({"from": ACCOUNTS[0].address, "to": ACCOUNTS[0].address, "value": value})

    def faucet(self, token: str, to: str, amount: int, slug: str = "devnet") -> None:
        """Give an account ``amount`` base units of a token.

        ``token`` is a symbol or an address; ``ETH`` or the zero address mean the native coin.
        """
        from quoteway.evm.abi import encode_call

        from quoteway_devnet.transactions import DEPLOYER

        with self.rpc(slug) as rpc:
            if token in (NATIVE_SYMBOL, NATIVE):
                balance = int(rpc("eth_getBalance", to, "latest"), 16)
                rpc("anvil_setBalance", to, hex(balance + amount))
                return
            chain = self.chains[slug]
            address = token if token.startswith("0x") else chain.token(token).address
            rpc("anvil_impersonateAccount", DEPLOYER)
            try:
                name = "mint"
                if int(address, 16) == int(chain.contracts["WETH9"], 16):
                    name = "transfer"
                    _send(rpc, DEPLOYER, address, encode_call("deposit()", []), amount)
                _send(rpc, DEPLOYER, address, encode_call(f"{name}(address,uint256)", [to, amount]))
            finally:
                rpc("anvil_stopImpersonatingAccount", DEPLOYER)

    def deploy(self, contract: str | bytes, signature: str = "()", *values: Any, slug: str = "devnet") -> str:
        """Deploy a contract and return its address.

        ``contract`` is the init code of any contract, which compilers name ``bytecode``, or the name of one
        of the devnet's own (``YieldVault``, ``OddVault``, ``MintableToken``...). ``signature`` is the types
        of its constructor's arguments. Raises DevnetError when the constructor reverts or leaves no code.
        """
        from quoteway_devnet.accounts import ACCOUNTS
        from quoteway_devnet.transactions import constructor_arguments, own_init_code

        code = contract if isinstance(contract, bytes) else own_init_code(contract)
        with self.rpc(slug) as rpc:
            receipt = _send(rpc, ACCOUNTS[-1].address, None, code + constructor_arguments(signature, values))
            address = checksum(receipt["contractAddress"])
            if rpc("eth_getCode", address, "latest") == "0x":
                raise DevnetError(
                    "The init code left no contract; give the compiler's `bytecode`, not `deployedBytecode`."
                )
        return address

    def _once(self, slug: str, method: str, *params: Any) -> Any:
        with self.rpc(slug) as rpc:
            return rpc(method, *params)


def _mine_history(process: Anvil, chain: ChainManifest) -> None:
    """Mine a month of vault yield on top of the dump, up to now.

    A dump has no state of earlier blocks and an old time, so this is done at every start.
    """
    with process.rpc() as rpc:
        accrue_yield(rpc, chain)
        rpc("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_WEI))
        rpc("evm_mine")


def _send(rpc: Rpc, sender: str, to: str | None, data: bytes, value: int = 0) -> Any:
    transaction = {"from": sender, "data": "0x" + data.hex(), "value": hex(value)}
    if to is not None:
        transaction["to"] = to
    receipt = rpc.send(transaction)
    if receipt["status"] != "0x1":
        told = "check the constructor's arguments", "the faucet serves the devnet's own tokens only"
        raise DevnetError(f"The transaction to {to or 'a new contract'} reverted; {told[to is not None]}.")
    return receipt
