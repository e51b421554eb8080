"""What spenders may take of a wallet, and the transactions that end it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

from quoteway.engine.allowances import Allowances, Spenders, known_spenders, read_allowances
from quoteway.engine.approvals import GrantKey
from quoteway.errors import Reason
from quoteway.evm import permit2
from quoteway.evm.address import parse_address
from quoteway.models import NATIVE, Address, Token
from quoteway.networks import Network
from quoteway.web.http import fields
from quoteway.web.http.fields import Member, Name, NetworkField
from quoteway.web.http.freshness import FreshBody, FreshQuery, at_least
from quoteway.web.http.name_fields import AccountField, TokenField, is_named_token
from quoteway.web.http.operation import Call, get, post
from quoteway.web.http.schema import refuse
from quoteway.web.resources.signed_actions import signed_answer
from quoteway.web.resources.wallet_reads import (
    MAX_TOKENS,
    NO_TOKEN,
    TOKEN_LIMIT,
    networks_asked,
    read_each,
    tokens_field,
)
from quoteway.web.wire import allowances as wire
from quoteway.web.wire.actions import Action
from quoteway.web.wire.holdings import (
    Missing,
)
from quoteway.web.wire.view import Wire

MAX_READS = 6_000
"""Of one request, over all its networks: some 20 calls of a node."""
MAX_REVOKED = 20
_TOKEN = TokenField("Token of the approval")
CALL_FAILED, LOGS_UNAVAILABLE = "call_failed", "logs_unavailable"


class ApprovalsQuery(FreshQuery):
    wallet = AccountField("Account whose approvals are listed", required=True)
    network = NetworkField("Network to read. Left out: all")
    tokens = tokens_field()


class GrantsField(Member[tuple[GrantKey, ...]]):
    """The approvals to revoke."""

    kinds = ("erc20", "permit2")
    schema = {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_REVOKED,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["token", "spender"],
            "properties": {
                "token": {**_TOKEN.metadata},
                "spender": {**fields.ADDRESS, "description": "Account that may take the token now"},
                "kind": {
                    "type": "string",
                    "enum": list(kinds),
                    "default": "erc20",
                    "description": "Which contract keeps the allowance: `erc20` the token, `permit2` Permit2",
                },
            },
        },
    }

    def parse(self, value: Any) -> tuple[GrantKey, ...]:
        if not isinstance(value, list) or not 0 < len(value) <= MAX_REVOKED:
            raise refuse(Reason.INVALID_FORMAT, f"must be a list of 1 to {MAX_REVOKED} approvals")
        return tuple(dict.fromkeys(map(self._grant, value)))

    def _grant(self, item: Any) -> GrantKey:
        shape = "must have objects of token, spender and kind (erc20 or permit2)"
        if not isinstance(item, dict) or item.keys() | {"kind"} != {"token", "spender", "kind"}:
            raise refuse(Reason.INVALID_FORMAT, shape)
        if item.get("kind", "erc20") not in self.kinds:
            raise refuse(Reason.INVALID_FORMAT, shape)
        try:
            named, spender = str(item["token"]), parse_address(str(item["spender"]))
            token = named if is_named_token(named) else parse_address(named)
        except ValueError as error:
            raise refuse(Reason.INVALID_FORMAT, f"must have addresses: {error}") from None
        if item.get("kind") == "permit2":
            return token, permit2.ADDRESS, spender
        return token, spender, None

    def names(self, value: Any) -> Iterator[tuple[str, Name]]:
        for at, item in enumerate(value, 1):
            for _, name in _TOKEN.names(item["token"]):
                yield f"item {at} ", name

    def with_addresses(self, value: Any, found: Mapping[Name, Address]) -> Any:
        return [{**item, "token": _TOKEN.with_addresses(item["token"], found)} for item in value]


class RevokeBody(FreshBody):
    address = AccountField("Account that signs, and whose approvals end", required=True)
    network = NetworkField("Network of the approvals", required=True)
    approvals = GrantsField("Approvals to revoke, as `GET /v2/portfolio/approvals` shows them", required=True)


@get(
    "/v2/portfolio/approvals",
    "What spenders may take of a wallet",
    wire.Allowances,
    query=ApprovalsQuery,
    description=(
        "The allowances above zero, of ERC-20 tokens and through Permit2, at one block (`asOf`). Read are: "
        "the listed tokens, or those in `tokens`, for the spenders that providers declare; and what the "
        "wallet's approvals in the last 10,000 blocks name, of any token for any spender. An older approval "
        "of an unknown spender is not found. `partial` names a token that cannot be read, and with `token` "
        "null a network: `logs_unavailable` where its node gave no logs, or too many, and `token_limit` "
        "where its list is longer than what one request reads."
    ),
    failures=(502,),
)
async def get_portfolio_approvals(call: Call) -> Wire:
    gateway, networks = call.gateway, networks_asked(call, call.query)
    named: tuple[Address, ...] | None = call.query.get("tokens")
    chain_ids = [network.chain_id for network in networks]
    lists = await asyncio.gather(*map(gateway.tokens.listed, chain_ids))
    listed = dict(zip(chain_ids, lists, strict=True))
    spenders = {chain_id: known_spenders(gateway.registry, chain_id) for chain_id in chain_ids}
    wanted = {
        chain_id: [token for token in (listed[chain_id] if named is None else named) if token != NATIVE]
        for chain_id in chain_ids
    }
    most = {chain_id: _most(spenders[chain_id], len(networks)) for chain_id in chain_ids}

    def read(chain_id: int) -> Coroutine[Any, Any, Allowances]:
        return read_allowances(
            gateway.runtime.chains[chain_id],
            call.query["wallet"],
            wanted[chain_id][: most[chain_id]],
            spenders[chain_id],
            everywhere=named is None,
        )

    found, missing = await read_each(call, call.query, networks, read)
    shown: list[wire.ShownAllowance] = []
    for chain_id, allowances in found.items():
        tokens = await gateway.tokens.find_each(chain_id, {held.token for held in allowances.held})
        shown += _shown(allowances, tokens, listed[chain_id], spenders[chain_id])
        missing += (Missing(chain_id, token, CALL_FAILED) for token in allowances.unreadable)
        lost = {held.token for held in allowances.held} - tokens.keys()
        missing += (Missing(chain_id, token, NO_TOKEN) for token in sorted(lost))
        if not allowances.has_logs:
            missing.append(Missing(chain_id, None, LOGS_UNAVAILABLE))
        if len(wanted[chain_id]) > most[chain_id]:
            missing.append(Missing(chain_id, None, TOKEN_LIMIT))
    return wire.Allowances.of(
        call.networks,
        wallet=call.query["wallet"],
        data=shown,
        as_of=[(chain_id, allowances.block.number) for chain_id, allowances in found.items()],
        missing=missing,
    )


def _most(spenders: Spenders, networks: int) -> int:
    """How many tokens of a network are read."""
    reads_per_token = max(1, len(spenders.grants(NATIVE)))
    return min(MAX_TOKENS, MAX_READS // reads_per_token) // networks


def _shown(
    allowances: Allowances,
    tokens: Mapping[Address, Token],
    listed: Mapping[Address, Token],
    spenders: Spenders,
) -> Iterator[wire.ShownAllowance]:
    for held in allowances.held:
        if held.token in tokens:
            yield wire.ShownAllowance(
                token=tokens[held.token],
                spender=held.spender,
                amount=held.amount,
                unlimited=held.unlimited,
                expiration=held.expiration,
                label=spenders.labels.get(held.spender),
                listed=held.token in listed,
            )


@post(
    "/v2/portfolio/approvals/revoke",
    "Unsigned transactions that end approvals",
    Action,
    group="quotes",
    status=201,
    body=RevokeBody,
    description=(
        "An action of its own kind (`revocation`): `approve(spender, 0)` for each ERC-20 allowance, and one "
        "`lockdown` for all that Permit2 keeps. What is zero already is left out; 422 `conflict` when all is."
    ),
    failures=(403, 502),
)
async def create_revocation(call: Call) -> Wire:
    network: Network = call.body["network"]
    async with at_least(call.gateway, network.chain_id, call.body):
        action = await call.gateway.building.revoke(
            network.chain_id, call.body["address"], call.body["approvals"]
        )
    return signed_answer(call, action)


OPERATIONS = (get_portfolio_approvals, create_revocation)
