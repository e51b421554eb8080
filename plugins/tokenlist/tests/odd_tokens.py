"""Runtime code of contracts with fixed answers, for ``anvil_setCode``."""

from eth_abi import encode
from eth_utils import keccak


def text(value):
    return encode(["string"], [value])


def word(value):
    return value.to_bytes(32, "big")


def contract(answers):
    """Returns runtime code that compares the selector with each signature and returns its answer."""
    entry, body = 16, 20  # bytes per comparison, bytes per answer's code
    starts, code, data = [], b"", b""
    head = 5 + entry * len(answers) + 4
    for index, output in enumerate(answers.values()):
        starts.append(head + body * index)
        offset = head + body * len(answers) + len(data)
        code += (
            b"\x5b\x63"
            + len(output).to_bytes(4, "big")
            + b"\x80\x63"
            + offset.to_bytes(4, "big")
            + b"\x60\x00\x39\x60\x00\xf3\x00\x00"
        )  # JUMPDEST PUSH4 size DUP1 PUSH4 offset PUSH1 0 CODECOPY PUSH1 0 RETURN
        data += output
    dispatch = b"\x5f\x35\x60\xe0\x1c"  # PUSH0 CALLDATALOAD PUSH1 224 SHR
    for signature, start in zip(answers, starts, strict=True):
        selector = keccak(text=signature)[:4]
        # DUP1 PUSH4 selector EQ PUSH4 start JUMPI, padded
        dispatch += b"\x80\x63" + selector + b"\x14\x63" + start.to_bytes(4, "big") + b"\x57" + b"\x5b" * 3
    dispatch += b"\x5f\x5f\xfd\x00"  # PUSH0 PUSH0 REVERT
    return dispatch + code + data


def erc20(symbol, name, decimals, supply=0):
    answers = {
        "symbol()": symbol,
        "name()": name,
        "decimals()": word(decimals),
        "totalSupply()": word(supply),
    }
    return contract(answers)
