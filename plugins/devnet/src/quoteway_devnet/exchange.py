"""An exchange of a test's own on the devnet: its contracts, its pools, and swaps through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quoteway import NATIVE, Capability, SwapRequest, Token
from quoteway.errors import GatewayError
from quoteway.evm.abi import encode_call, function
from quoteway.evm.address import checksum
from quoteway.testing.execution import execute

from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.transactions import own_init_code

CHAIN_ID = 31337
_REFUSALS = {"unsafe_answer", "quote_mismatch", "reverted"}


class OwnExchange:
    """Contracts of ``account`` 3 of the devnet, and swaps of account 5. A subclass deploys and adds pools."""

    def __init__(self, devnet: Any) -> None:
        self.devnet, self.manifest = devnet, devnet.chains["devnet"]
        self.owner, self.account = ACCOUNTS[3].address, ACCOUNTS[5].address

    # --- chain ----------------------------------------------------------------------------------------------

    def deploy(self, contract: str, arguments: bytes = b"") -> str:
        """Deploys one of the devnet's own contracts and returns its address."""
        return checksum(self.send(None, own_init_code(contract) + arguments)["contractAddress"])

    def send(self, to: str | None, data: bytes) -> Any:
        """Sends a transaction of the owner and returns its receipt."""
        sent = {"from": self.owner, "data": "0x" + data.hex(), "gas": hex(6_000_000)}
        return self._mined(sent | ({} if to is None else {"to": to}))

    def pay(self, transaction: Mapping[str, str]) -> Any:
        """Executes a transaction of an action as the account that swaps, and returns its receipt."""
        sent = {"from": self.account, "to": transaction["to"], "data": transaction["data"]}
        return self._mined(sent | {"value": hex(int(transaction["value"], 0)), "gas": hex(2_000_000)})

    def _mined(self, sent: Mapping[str, Any]) -> Any:
        with self.devnet.rpc("devnet") as rpc:
            receipt = rpc.send(sent)
        assert receipt["status"] == "0x1", receipt
        return receipt

    def approve(self, token: str, spender: str, amount: int) -> None:
        """Lets a contract take the owner's tokens."""
        self.send(token, encode_call("approve(address,uint256)", [spender, amount]))

    def held(self, token: str, account: str | None = None) -> int:
        """Returns the balance of the account that swaps, or of another, in base units."""
        data = encode_call("balanceOf(address)", [account or self.account])
        with self.devnet.rpc("devnet") as rpc:
            return int(rpc("eth_call", {"to": token, "data": "0x" + data.hex()}, "latest"), 16)

    # --- tokens ---------------------------------------------------------------------------------------------

    def token(self, symbol: str) -> Token:
        """Returns a token of the devnet, or its native coin."""
        if symbol == "ETH":
            return Token(CHAIN_ID, NATIVE, 18, "ETH")
        row = self.manifest.token(symbol)
        return Token(CHAIN_ID, row.address, row.decimals, symbol)

    def units(self, symbol: str, dollars: float) -> int:
        """Returns what so many dollars are at the devnet's prices, in base units; 1 at least."""
        row = self.manifest.token("WETH" if symbol == "ETH" else symbol)
        return max(int(dollars / float(row.price_usd) * 10**row.decimals), 1)

    def sides(self, first: str, second: str, dollars: float) -> tuple[list[str], list[int]]:
        """Returns the tokens of a pair in the order of their addresses, with so many dollars of each."""
        symbols = sorted((first, second), key=lambda symbol: int(self.token(symbol).address, 16))
        tokens = [self.token(symbol).address for symbol in symbols]
        return tokens, [self.units(symbol, dollars) for symbol in symbols]

    # --- swaps ----------------------------------------------------------------------------------------------

    def request(self, sold: str, bought: str, amount: int, **more: Any) -> SwapRequest:
        """Returns a request to sell ``amount`` base units, paid to the account itself by default."""
        ends, recipient = (self.token(sold), self.token(bought)), more.pop("recipient", self.account)
        return SwapRequest(CHAIN_ID, CHAIN_ID, *ends, amount, self.account, recipient, 50, **more)

    async def executed(
        self, gateway: Any, request: SwapRequest, provider: str | None = None, **more: Any
    ) -> Any:
        """Quotes and executes: what was received is what was quoted. Returns the quote's answer."""
        more = {"acknowledged": ["high_price_impact", "recipient_differs"]} | more
        answer = await gateway.quoting.quote(Capability.SWAP, request, **more)
        assert provider is None or answer.sealed.provider == provider
        action = await gateway.building.action(answer.sealed)
        assert action.simulation.status == "success"
        done = await execute(self.devnet, action)
        assert not done.reverted
        assert done.deltas[request.recipient, request.token_out.address] == answer.quote.outputs[0].amount > 0
        return answer

    def sections(self) -> dict[str, Mapping[str, Any]]:
        """Returns the plugins' sections of a server over this devnet, without processes for the solver."""
        ports = {"port": self.devnet.ports["devnet"], "l2_port": self.devnet.ports["devnet-l2"]}
        return {"devnet": {"enabled": True, "start": False, **ports}, "router": {"solver_processes": 0}}


Change = Callable[[bytes], bytes]


def member_changed(signature: str, names: Sequence[str], name: str, change: Callable[[Any], Any]) -> Change:
    """Returns what changes one argument of a function's calldata. ``names`` are those of all arguments."""

    def apply(data: bytes) -> bytes:
        called = function(signature)
        values = list(called.decode(data))
        at = names.index(name)
        values[at] = change(values[at])
        return called.encode(values)

    return apply


async def assert_changes_refused(
    exchange: OwnExchange,
    gateway: Any,
    request: SwapRequest,
    executor: type[Any],
    changes: Mapping[str, Change],
    monkeypatch: Any,
) -> None:
    """Asserts that no quote comes of an executor whose calldata is changed, and that it works otherwise."""
    honest = executor.encode
    await exchange.executed(gateway, request)
    for name, change in changes.items():

        async def encode(self: Any, order: Any, change: Change = change) -> Any:
            step = await honest(self, order)
            return replace(step, data=change(step.data))

        monkeypatch.setattr(executor, "encode", encode)
        assert await _refusal(gateway, request) in _REFUSALS, name
    monkeypatch.setattr(executor, "encode", honest)
    await exchange.executed(gateway, request)


async def _refusal(gateway: Any, request: SwapRequest) -> str | None:
    """Returns the reason why a request gets no quote; None if it gets one."""
    try:
        await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
    except GatewayError as error:
        return error.reason
    return None
