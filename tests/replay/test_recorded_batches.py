"""Reads of a batch are known one by one, so that a batch of other reads is answered from several."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway import Network, UpstreamError
from quoteway.evm import batch
from quoteway.evm.address import checksum
from quoteway.host.recorded_nodes import RecordedNodes
from quoteway.host.recording import Recorder
from quoteway.models import Call, CodeSize, NativeBalance

NETWORK = Network("mainnet", 1, "Mainnet")
ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: checksum("0x" + raw.hex()))
CALLS = st.builds(
    Call, ADDRESSES, st.binary(max_size=100), st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)
)
READS = st.lists(CALLS | st.builds(NativeBalance, ADDRESSES) | st.builds(CodeSize, ADDRESSES), max_size=12)


@settings(max_examples=40)
@given(READS)
def test_the_reads_of_a_program_are_found(reads):
    assert batch.reads_of(batch.program(reads)) == reads


@settings(max_examples=40)
@given(READS, st.data())
def test_code_that_is_cut_or_changed_has_no_other_reads(reads, data):
    code = bytearray(batch.program(reads))
    place = data.draw(st.integers(0, len(code) - 1))
    for changed in (code[:place], code[:place] + bytes([code[place] ^ 1]) + code[place + 1 :]):
        found = batch.reads_of(bytes(changed))
        assert found is None or batch.program(found) == changed


def asked(reads, block):
    return [{"data": "0x" + batch.program(reads).hex()}, block]


def answer_to(reads, outputs):
    parts = ((1 << 255 | len(output)).to_bytes(32) + output for output in outputs)
    return "0x" + b"".join(parts).hex()


async def test_a_batch_is_answered_from_the_reads_of_others():
    one, two, three = (Call(checksum("0x" + f"{n:02x}" * 20), bytes([n])) for n in (1, 2, 3))
    answers = {
        batch.program([one, two]): answer_to([one, two], [b"first", b""]),
        batch.program([three]): answer_to([three], [b"third"]),
    }

    async def forward(method, params, timeout_s):
        return answers[bytes.fromhex(params[0]["data"][2:])]

    recorder = Recorder(5, 1 << 20, lambda: 0.0)
    reads = recorder.reads(NETWORK, forward)
    block = {"blockHash": "0x" + "11" * 32}
    await reads("eth_call", asked([one, two], block), 1.0)
    await reads("eth_call", asked([three], {"blockHash": "0x" + "22" * 32}), 1.0)
    recording, mark = recorder.begin("id", "GET", "/")
    recorder.finish(recording, mark, 200, b"{}")
    known = [(key, orjson.loads(outcome.text)) for key, outcome in recording.known.items()]
    nodes = RecordedNodes([NETWORK], [], known)
    found = await nodes.forward(NETWORK, "eth_call", asked([three, one], block), timeout_s=1.0)
    assert found == answer_to([three, one], [b"third", b"first"])
    with pytest.raises(UpstreamError, match="no answer to this read"):
        await nodes.forward(NETWORK, "eth_call", asked([three, NativeBalance(one.to)], block), timeout_s=1.0)
    assert len(nodes.missing) == 1


async def test_recordings_stay_in_their_memory():
    """The oldest requests go first, then what is known; nothing is counted twice or forgotten."""

    async def forward(method, params, timeout_s):
        return "0x" + "ab" * 10_000

    recorder = Recorder(50, 200_000, lambda: 0.0)
    reads = recorder.reads(NETWORK, forward)
    for number in range(100):
        recording, mark = recorder.begin(str(number), "GET", "/")
        await reads("eth_getCode", [hex(number), "latest"], 1.0)
        recorder.finish(recording, mark, 200, b"{}")
        assert recorder.bytes_held <= 200_000
    assert recorder.find("0") is None
    held = recorder.bytes_held
    assert held > 100_000
    assert recorder.find("99") is not None


async def test_what_outlives_a_request_is_not_its_own():
    async def forward(method, params, timeout_s):
        return "0x1"

    recorder = Recorder(5, 1 << 20, lambda: 7.0)
    reads = recorder.reads(NETWORK, forward)
    recording, mark = recorder.begin("id", "GET", "/")
    assert recorder.clock() == 7.0
    recorder.finish(recording, mark, 200, b"{}")
    await reads("eth_chainId", [], 1.0)
    assert recording.own == []
    assert recording.known == {}
