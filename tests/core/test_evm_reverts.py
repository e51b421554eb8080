"""Revert data in words."""

import pytest
from quoteway.evm import reverts
from quoteway.evm.abi import encode_call


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "reverted without a reason"),
        ("12", "reverted with unreadable data"),
        ("08c379a0" + f"{32:064x}{5:064x}" + b"hello".hex().ljust(64, "0"), "hello"),
        ("08c379a0" + f"{32:064x}{3:064x}" + b"a\nb".hex().ljust(64, "0"), "a?b"),
        ("08c379a0" + f"{32:064x}", "custom error 0x08c379a0"),
        ("4e487b71" + f"{0x11:064x}", "arithmetic overflow or underflow (panic 0x11)"),
        ("12345678", "custom error 0x12345678"),
        # Selectors as they are seen on the chain, not computed here.
        ("39d35496", "the swap gives less than its minimum (V3TooLittleReceived)"),
        ("849eaf98", "the swap gives less than its minimum (V2TooLittleReceived)"),
        ("5bf6f916", "the deadline of the transaction has passed (TransactionDeadlinePassed)"),
        ("815e1d64", "the signature is of another account (InvalidSigner)"),
        ("d81b2f2e" + f"{1700000000:064x}", "the Permit2 allowance expired at 1700000000 (AllowanceExpired)"),
        ("f722177f", "the quote of the transfer is too old, or from the future (InvalidQuoteTimestamp)"),
        ("582e3889", "the fill deadline is too far away, or has passed (InvalidFillDeadline)"),
        (
            "8b063d73" + f"{7:064x}{5:064x}",
            "the swap gives 5, less than its minimum of 7 (V4TooLittleReceived)",
        ),
        (
            "e450d38c" + "11" * 20 + f"{5:064x}",
            "custom error 0xe450d38c",
        ),
        (
            "e450d38c" + ("11" * 20).rjust(64, "0") + f"{5:064x}{7:064x}",
            "0x1111111111111111111111111111111111111111 holds 5 of the token, 7 are needed"
            " (ERC20InsufficientBalance)",
        ),
        (
            "2c4029e9" + f"{3:064x}{64:064x}{4:064x}" + "39d35496".ljust(64, "0"),
            "command 3 failed: the swap gives less than its minimum (V3TooLittleReceived)",
        ),
    ],
)
def test_revert_reasons(data, reason):
    assert reverts.revert_reason(bytes.fromhex(data)) == reason


def test_a_revert_reason_nested_too_deep_is_cut():
    data = bytes.fromhex("39d35496")
    for _ in range(1_000):
        data = encode_call("ExecutionFailed(uint256 command, bytes reason)", [1, data])
    assert reverts.revert_reason(data).startswith("command 1 failed: command 1 failed: ")
    assert reverts.revert_reason(data).endswith("custom error 0x2c4029e9")


def test_every_known_custom_error_is_put_in_words():
    samples = {"address": "0x" + "11" * 20, "bytes": b"", "bytes4": b"\1" * 4, "bytes32": b"\1" * 32}
    errors = reverts.known_errors()
    assert len(errors) == len(reverts._WORDS), "two signatures have one selector"
    for error, _ in errors.values():
        reason = reverts.revert_reason(error.encode([samples.get(type_, 7) for type_ in error.types]))
        assert not reason.startswith("custom error"), error.signature
        assert "{" not in reason
