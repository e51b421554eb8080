"""Checks the packed rows of a token catalog as ``model_types`` checks profiles."""

from __future__ import annotations

from collections.abc import Collection

from quoteway.guard.findings import Expect
from quoteway.guard.model_types import flaw
from quoteway.models import TokenProfile, TokenRows
from quoteway.providers import Provider


def check_rows(
    provider: Provider, answer: TokenRows, most_rows: int, known: Collection[bytes] = frozenset()
) -> TokenRows:
    """Returns the rows, each of which makes a ``TokenProfile`` with members of the declared types.

    ``known`` rows were checked before. Runs no code of the provider. Takes tenths of a second for 100,000
    rows: not for the event loop. Raises ``UnsafeAnswer``.
    """
    expect = Expect(provider)
    packed = answer.packed
    expect(type(packed) is tuple, "its packed rows are no tuple")
    expect(len(packed) <= most_rows, f"its list has more than {most_rows} rows")
    for index, row in enumerate(packed):
        found = None if type(row) is bytes and row in known else row_flaw(row)
        expect(found is None, f"in its answer, row {index} of the list{found}")
    return answer


def row_flaw(packed: object) -> str | None:
    """Says what is wrong with a packed row; None: nothing. The content is not repeated."""
    if type(packed) is not bytes:
        return " is not packed"
    try:
        row = TokenRows.unpack(packed)
        if not row.is_plain:
            return flaw(row.profile(), TokenProfile)
    except Exception:  # what bytes of a plugin make the decoder raise is not all declared
        return " is not a packed TokenProfile"
    # Types and lengths are those that decoding requires, which leaves only what texts may have in them.
    texts = [row.id, row.name, row.symbol, row.logo_uri or "", *row.tags]
    texts += [contract.address for contract in row.contracts]
    return None if "".join(texts).isprintable() else " holds characters that do not show"
