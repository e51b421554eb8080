"""Attack: calldata that a decoder and the contract read differently: hidden bytes, dirty padding, gaps.

The Solidity decoders of the real routers accept most of it and would execute it. The core takes the one
encoding of each call that its ABI gives, at every level.
"""

import pytest
from cheating import THIEF, attempt, nothing_to_sign, with_step
from quoteway import Capability
from quoteway.evm.abi import function
from quoteway.evm.calls.router_commands import EXECUTE

pytestmark = pytest.mark.asyncio(loop_scope="module")
WORD = 32


def word(number):
    return number.to_bytes(WORD)


def patched(at, new):
    """Other bytes in the arguments, from byte ``at`` on."""
    return lambda data: data[: 4 + at] + new + data[4 + at + len(new) :]


def moved_path(data):
    """The array of the path behind a gap that names a thief; the offset points behind it."""
    head, tail = data[: 4 + 5 * WORD], data[4 + 5 * WORD :]
    gap = word(2) + word(int(THIEF, 16)) * 2
    return head[: 4 + 2 * WORD] + word(5 * WORD + len(gap)) + head[4 + 3 * WORD :] + gap + tail


ENCODINGS = {
    "trailing word": lambda data: data + word(int(THIEF, 16)),
    "trailing byte": lambda data: data + b"\0",
    "cut": lambda data: data[:-1],
    "dirty recipient": patched(3 * WORD, b"\x01"),
    "dirty token": patched(6 * WORD, b"\xff" * 12),
    "a gap before the path": moved_path,
    "longer path than there is": patched(5 * WORD, word(3)),
    "path of 2^255 tokens": patched(5 * WORD, word(1 << 255)),
    "path beyond the end": patched(2 * WORD, word(1 << 64)),
    "path in the head": patched(2 * WORD, word(0)),
    "no selector": lambda data: data[:3],
    "nothing": lambda data: b"",
}


@pytest.mark.parametrize("change", ENCODINGS.values(), ids=ENCODINGS.keys())
async def test_the_arguments_of_the_v2_router(client, lie, change):
    lie(lambda build: with_step(build, data=change(build.steps[0].data)))
    nothing_to_sign(await attempt(client), "unsafe_answer", "cannot be read")


def program(change):
    """A change of the commands and inputs of the Universal Router's ``execute``."""

    def changed(data):
        call = function(EXECUTE)
        commands, inputs, deadline = call.decode(data)
        commands, inputs = change(commands, list(inputs))
        return call.encode([commands, inputs, deadline])

    return changed


def in_input(change):
    return program(lambda commands, inputs: (commands, [change(inputs[0]), *inputs[1:]]))


PROGRAMS = {
    "trailing word behind the program": lambda data: data + word(1),
    "trailing word in an input": in_input(lambda each: each + word(int(THIEF, 16))),
    "trailing byte in an input": in_input(lambda each: each + b"\0"),
    "dirty recipient in an input": in_input(lambda each: b"\x01" + each[1:]),
    "cut input": in_input(lambda each: each[:-WORD]),
    "an input without a command": program(lambda commands, inputs: (commands, [*inputs, inputs[0]])),
    "a command without an input": program(lambda commands, inputs: (commands * 2, inputs)),
    "a command that may fail": program(lambda commands, inputs: (bytes([commands[0] | 0x80]), inputs)),
    "an unknown command": program(lambda commands, inputs: (b"\x3f", inputs)),
    "a sub-program": program(lambda commands, inputs: (b"\x21", inputs)),
}


@pytest.mark.parametrize("change", PROGRAMS.values(), ids=PROGRAMS.keys())
async def test_the_program_of_the_universal_router(client, monkeypatch, change):
    provider = client.api.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = provider.build

    async def build(sealed):
        made = await honest(sealed)
        return with_step(made, data=change(made.steps[0].data))

    monkeypatch.setattr(provider, "build", build)
    nothing_to_sign(await attempt(client, provider="uniswap"), "unsafe_answer", "cannot be read")


async def test_the_honest_encodings_pass(client):
    for provider in ("cheat", "uniswap"):
        answer = await attempt(client, provider=provider)
        assert (answer.status, answer.body["simulation"]["status"]) == (201, "success")
