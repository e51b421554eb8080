"""From an ABI file and a transaction to a description of the call, with the roles that runs prove."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quoteway.config.model import Config
from quoteway.evm.address import keccak256, parse_address
from quoteway.evm.calls.described import Described
from quoteway.evm.calls.meaning import ACTIONS, Sent
from quoteway.evm.chain import RpcChain
from quoteway.models import Address, DeployedAt
from quoteway.networks import Network
from quoteway.server.describing.abi_file import Abi, AbiFunction
from quoteway.server.describing.arguments import arguments_of
from quoteway.server.describing.errors import CannotDescribe
from quoteway.server.describing.roles import RoleSearch, Unproved, stand_in
from quoteway.server.describing.source import source_of
from quoteway.server.describing.transaction import Example, code_of, is_proxy, mined
from quoteway.server.describing.trials import Trials
from quoteway.server.doctor import loaded
from quoteway.server.one_node import open_chain

_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_PREFIXES = (
    *(("addliquidity", "add"), ("removeliquidity", "remove"), ("deposit", "deposit"), ("mint", "mint")),
    *(("withdraw", "withdraw"), ("redeem", "redeem"), ("collect", "collect"), ("claim", "claim")),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command, as given."""

    abi: Path
    network: str
    transaction: str | None = None
    to: str | None = None
    data: str | None = None
    sender: str | None = None
    value: int = 0
    tokens: Sequence[str] = ()
    action: str | None = None
    name: str | None = None
    rpc_url: str | None = None


async def described(config: Config, asked: Asked) -> tuple[str, Sequence[Unproved]]:
    """Returns the Python source of the description, and what has not been proved.

    Raises ``CannotDescribe`` and ``ConfigError`` with what to do, ``GatewayError`` when the node fails.
    """
    if asked.action not in (None, *ACTIONS):
        raise CannotDescribe(f"--action {asked.action}: known are {', '.join(sorted(ACTIONS))}")
    if asked.transaction is not None and _HASH.fullmatch(asked.transaction) is None:
        raise CannotDescribe("--transaction: give the hash, 0x and 64 hexadecimal digits")
    if asked.transaction is None and None in (asked.to, asked.data, asked.sender):
        raise CannotDescribe("give --transaction HASH, or --to ADDRESS, --data 0xHEX and --from ADDRESS")
    if asked.transaction is not None and {asked.to, asked.data, asked.sender} != {None}:
        raise CannotDescribe("--transaction has its own --to, --data and --from: leave them out")
    tokens = [_address("--token", token) for token in asked.tokens]
    abi = Abi.read(asked.abi)
    network = _network(config, asked.network)
    async with open_chain(network, asked.rpc_url) as chain:
        example = await _example(chain, asked)
        function = abi.functions.get(example.data[:4])
        if function is None:
            raise CannotDescribe(
                f"the transaction calls the function 0x{example.data[:4].hex()} of {example.to}, which "
                f"{asked.abi} does not have: give the ABI of that contract, of a proxy its implementation's"
            )
        return await _described(chain, example, function, asked, asked.name or abi.name, tokens)


async def _described(
    chain: RpcChain,
    example: Example,
    function: AbiFunction,
    asked: Asked,
    name: str,
    tokens: Sequence[Address],
) -> tuple[str, Sequence[Unproved]]:
    try:
        values = function.function.decode(example.data)
    except ValueError as error:
        raise CannotDescribe(f"the calldata cannot be described: {error}") from None
    code = await code_of(chain, example)
    arguments = arguments_of(function, values)
    addresses = [argument for argument in arguments if argument.type == "address"]
    trials = await Trials.of(
        chain,
        example,
        function.function,
        values,
        named=[argument.value for argument in addresses],
        numbers=[argument.value for argument in arguments if argument.bits],
        watched=map(stand_in, addresses),
        tokens=tokens,
    )
    search = RoleSearch(trials, arguments, asked.action or _action_of(function))
    roles = await search.find(values)
    try:
        Described(roles.description).read(Sent(example.to, example.data, example.value, example.sender))
    except ValueError as error:
        raise CannotDescribe(f"no description can say what was found ({error}): write it by hand") from None
    if await is_proxy(chain, example):
        note = "the contract is a proxy (ERC-1967): the hash is of the proxy's code, which an upgrade keeps"
        roles = replace(roles, notes=(*roles.notes, note))
    place = DeployedAt(chain.network.chain_id, example.to, "0x" + keccak256(code).hex())
    what = f"calldata on block {example.block.number}" if asked.transaction is None else asked.transaction
    return source_of(roles, name, place, f"{what} of {chain.network.slug}"), roles.unproved


def _network(config: Config, text: str) -> Network:
    networks = loaded(config).runtime.networks
    network = networks.find(text)
    if network is None:
        raise CannotDescribe(f"--network {text}: unknown. {networks.suggestion(text)}")
    return network


async def _example(chain: RpcChain, asked: Asked) -> Example:
    if asked.transaction is not None:
        return await mined(chain, asked.transaction)
    try:
        data = bytes.fromhex((asked.data or "").removeprefix("0x"))
    except ValueError:
        raise CannotDescribe("--data: give the calldata as 0x and hexadecimal digits") from None
    to, sender = _address("--to", asked.to or ""), _address("--from", asked.sender or "")
    return Example(to, data, asked.value, sender, await chain.head())


def _address(option: str, text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise CannotDescribe(f"{option}: {error}") from None


def _action_of(function: AbiFunction) -> str:
    """Returns the action that the function's name says, else ``swap``."""
    name = function.function.signature.partition("(")[0].lower()
    return next((action for prefix, action in _PREFIXES if name.startswith(prefix)), "swap")
