"""Reads saved answers of action requests, to judge them by a policy without a gateway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quoteway import models
from quoteway.config.bounded_file import UnreadableFile
from quoteway.evm.address import parse_address
from quoteway.guard.policy_facts import Facts, facts_of
from quoteway.server.json_file import read_json

MAX_BYTES = 4_194_304
_MAX_DEPTH = 32
"""How deep calls are inside of each other, and values inside of values."""


def saved_facts(path: Path, levels: Mapping[str, int | None], quorums: Mapping[str, int]) -> Facts:
    """Returns what a policy judges of the action in a file. Answers do not tell the ``levels`` of plugins, by
    provider, nor the ``quorums`` of nodes, by network.

    Raises ``UnreadableFile`` for a file without the answer of an action request.
    """
    answer = read_json(path, max_bytes=MAX_BYTES, wanted="the answer of one action request")
    try:
        names = dict(_networks(answer))
        return facts_of(_action(answer), names.__getitem__, levels, quorums)
    except KeyError as error:
        problem = f"it has no member {error.args[0]!r}"
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        problem = f"{error}"
    raise UnreadableFile(
        f"{path} is no answer of an action request of this version: {problem}. Save the whole answer (201)"
    )


def _networks(answer: Any) -> Iterator[tuple[int, str]]:
    """Yields the chain ids in an answer with the names of their networks."""
    tokens = [leg["token"] for leg in (*answer["inputs"], *answer["outputs"])]
    for part in answer["parts"] or ():
        tokens += (leg["token"] for leg in (*part["inputs"], *part["outputs"]))
    for each in (answer, *tokens, *answer["recipients"]):
        yield each["chainId"], each["network"]


def _action(answer: Any) -> models.Action:
    """Returns the action in an answer, as far as ``facts_of`` reads it."""
    chain_id, sender = answer["chainId"], parse_address(answer["from"])
    kind, run = answer["kind"], answer["simulation"]
    capability = None if kind == "revocation" else models.Capability(kind)
    alone = [{**answer, "steps": []}] if capability else []
    block = models.Block(0, "", 0)
    return models.Action(
        action_id=answer["actionId"],
        capability=capability,
        provider=answer["provider"],
        chain_id=chain_id,
        sender=sender,
        steps=tuple(_step(*each) for each in zip(answer["transactions"], answer["steps"], strict=True)),
        signatures=tuple(
            models.SignatureRequest(each["kind"], each["typedData"], 0, 0) for each in answer["signatures"]
        ),
        inputs=_legs(answer["inputs"]),
        outputs=_legs(answer["outputs"]),
        parts=tuple(map(_part, answer["parts"] or alone)),
        simulation=models.Simulation(
            run["status"],
            None,
            asset_changes=tuple(map(_asset_change, run["assetChanges"])),
            allowance_changes=tuple(map(_allowance_change, run["allowanceChanges"])),
            assumptions=tuple(run["assumptions"]),
        ),
        created_at=0,
        expires_at=0,
        block=block,
        permit_offers=tuple(map(_offer, answer["permitOffers"])),
        payees=tuple(
            models.Payee(each["chainId"], parse_address(each["account"])) for each in answer["recipients"]
        ),
        price_impact_bps=answer["priceImpactBps"],
    )


def _step(transaction: Any, step: Any) -> models.ActionStep:
    return models.ActionStep(
        parse_address(transaction["to"]),
        bytes.fromhex(transaction["data"][2:]),
        int(transaction["value"], 16),
        transaction["chainId"],
        kind=step["kind"],
        decoded=_call(step["decoded"], 0),
        description="",
        intent="",
        index=step["index"],
        tx_id="",
        code_hash=None,
        gas_limit=None,
    )


def _call(call: Any, depth: int) -> models.DecodedCall:
    if depth > _MAX_DEPTH:
        raise ValueError(f"its calls are nested more than {_MAX_DEPTH} levels deep")
    args = tuple(
        models.Argument(each["name"], each["type"], _value(each["value"], 0)) for each in call["args"]
    )
    inner = tuple(_call(each, depth + 1) for each in call.get("inner", ()))
    return models.DecodedCall(call["signature"], args, inner, call.get("opaque", False) is True)


def _value(value: Any, depth: int) -> Any:
    """Returns the value of an argument. Integers are decimal text in an answer."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"its values are nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_value(each, depth + 1) for each in value]
    is_number = isinstance(value, str) and value.removeprefix("-").isdecimal()
    return int(value) if is_number else value


def _legs(legs: Any) -> tuple[models.Leg, ...]:
    return tuple(
        models.Leg(
            models.Token(
                leg["token"]["chainId"], parse_address(leg["token"]["address"]), leg["token"]["decimals"]
            ),
            int(leg["amount"]),
            parse_address(leg["account"]),
            None if leg["amountMin"] is None else int(leg["amountMin"]),
            None if leg["amountMax"] is None else int(leg["amountMax"]),
        )
        for leg in legs
    )


def _part(part: Any) -> models.ActionPart:
    kind = models.Capability(part["kind"])
    return models.ActionPart(kind, part["provider"], _legs(part["inputs"]), _legs(part["outputs"]), 0)


def _asset_change(change: Any) -> models.AssetChange:
    account, token = parse_address(change["account"]), parse_address(change["token"])
    return models.AssetChange(account, token, int(change["delta"]))


def _allowance_change(change: Any) -> models.AllowanceChange:
    owner, token, spender = (parse_address(change[name]) for name in ("owner", "token", "spender"))
    return models.AllowanceChange(owner, token, spender, int(change["before"]), int(change["after"]))


def _offer(offer: Any) -> models.PermitOffer:
    permit = offer["permit"]
    token, spender = parse_address(permit["token"]), parse_address(permit["spender"])
    signed = models.Permit(token, spender, int(permit["value"]), int(permit["nonce"]), permit["deadline"])
    return models.PermitOffer(signed, offer["typedData"])
