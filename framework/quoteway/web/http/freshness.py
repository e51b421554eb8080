"""What a caller's own node has seen already: no answer is older than that."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from quoteway.engine.gateway import Gateway
from quoteway.errors import FieldError, Reason
from quoteway.evm.arrivals import no_older_than
from quoteway.networks import Network
from quoteway.web.http import fields
from quoteway.web.http.schema import RequestSchema, invalid

_MIN_BLOCK = (
    "Number of a block, such as the newest of the caller's own node: the answer is of this block or a later "
    "one"
)
_LAST_BLOCK = (1 << 53) - 1


class FreshBody(RequestSchema):
    """The members of a body that name what the caller has seen on the (first) network."""

    min_block = fields.StrictInteger(_MIN_BLOCK, 0, _LAST_BLOCK)
    after_transaction = fields.HexField(
        "Hash of a transaction: the answer is of its block or a later one", 32, 32
    )


class FreshQuery(FreshBody):
    """The same members in a query, which then names its network."""

    min_block = fields.QueryInteger(_MIN_BLOCK, 0, _LAST_BLOCK)


@contextlib.asynccontextmanager
async def at_least(gateway: Gateway, chain_id: int, seen: Mapping[str, Any]) -> AsyncIterator[None]:
    """Code inside reads heads of a chain that are no older than what ``seen``, the body or query, names.

    Raises ``UpstreamError`` with reason ``behind`` when the nodes do not have it within a block time.
    """
    number: int = seen.get("min_block", 0)
    transaction: bytes | None = seen.get("after_transaction")
    unknown = gateway.runtime.networks.by_chain_id(chain_id) is None
    # An unknown one is that of a pool's id: the code inside says so.
    if unknown or (not number and transaction is None):
        yield
        return
    chain = gateway.runtime.chain(chain_id)
    if transaction is not None:
        number = max(number, await chain.mined_in("0x" + transaction.hex()))
    with no_older_than(chain_id, number):
        # Before any provider is asked: none of them is at fault when the nodes are behind.
        await chain.head()
        yield


@contextlib.asynccontextmanager
async def at_least_there(gateway: Gateway, seen: Mapping[str, Any]) -> AsyncIterator[None]:
    """``at_least`` for a body or query that may name a network. Raises ``InvalidRequest`` without one."""
    network: Network | None = seen.get("network")
    names = {"min_block": "minBlock", "after_transaction": "afterTransaction"}
    given = [name for member, name in names.items() if member in seen]
    if given and network is None:
        message = "is of one network: name it in network"
        raise invalid(*(FieldError(name, Reason.CONFLICT, message) for name in given))
    async with at_least(gateway, network.chain_id if network else 0, seen):
        yield
