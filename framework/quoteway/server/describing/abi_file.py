"""Reads the functions of a contract from an ABI file: JSON of solc, or an artifact of Hardhat or Foundry."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from quoteway.config.bounded_file import UnreadableFile
from quoteway.evm.abi import Function, function
from quoteway.server.describing.errors import CannotDescribe
from quoteway.server.json_file import read_json

MAX_FILE_BYTES = 16 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_TYPE = re.compile(r"[a-z]+\d*(\[\d*\])*", re.ASCII)


class Parameter(msgspec.Struct, frozen=True):
    """A parameter as the JSON of an ABI has it. Members that are not declared are ignored."""

    type: str
    name: str = ""
    components: tuple[Parameter, ...] = ()


class _Entry(msgspec.Struct, frozen=True):
    type: str = "function"
    name: str = ""
    inputs: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class AbiFunction:
    """A function with the parameters that its ABI declares."""

    function: Function
    inputs: Sequence[Parameter]


@dataclass(frozen=True, slots=True)
class Abi:
    """The functions of a contract by selector. ``name`` is the contract's, or that of the file."""

    name: str
    functions: Mapping[bytes, AbiFunction]

    @classmethod
    def read(cls, path: Path) -> Abi:
        """Raises ``CannotDescribe`` for a file that has no ABI."""
        try:
            document = read_json(path, max_bytes=MAX_FILE_BYTES, wanted="the ABI alone")
            artifact = document if isinstance(document, dict) else {"abi": document}
            entries = msgspec.convert(artifact.get("abi"), tuple[_Entry, ...])
        except UnreadableFile as error:
            raise CannotDescribe(str(error)) from None
        except msgspec.MsgspecError as error:
            raise CannotDescribe(
                f"{path} is no ABI ({error}): give a JSON array of functions, or an object with it as abi"
            ) from None
        name = artifact.get("contractName")
        found = [_declared(entry) for entry in entries if entry.type == "function"]
        functions = {each.function.selector: each for each in found if each is not None}
        return cls(name if isinstance(name, str) and name else path.stem, functions)


def _declared(entry: _Entry) -> AbiFunction | None:
    """Returns a function; None for one with a name or a type that Solidity does not have."""
    try:
        declared = function(f"{entry.name}({', '.join(map(_text, entry.inputs))})")
        declared.selector  # noqa: B018 - parses the declaration
    except ValueError:
        return None
    return AbiFunction(declared, entry.inputs)


def _text(parameter: Parameter) -> str:
    """Returns a parameter as Solidity declares it. Raises ``ValueError`` for a type that is none."""
    if _TYPE.fullmatch(parameter.type) is None:
        raise ValueError("no type")
    type_ = parameter.type
    if type_.startswith("tuple"):
        type_ = f"({', '.join(map(_text, parameter.components))}){type_.removeprefix('tuple')}"
    return f"{type_} {parameter.name}" if _NAME.fullmatch(parameter.name) else type_
