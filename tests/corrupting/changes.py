"""Changes of a provider's quote or build: most keep the form and swap what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from quoteway import NATIVE, Build, Fee, Leg, Notice, Preview, Quote, SignatureRequest, Spend, Step, Token
from quoteway.evm import permit2
from quoteway.evm.abi import encode_call
from quoteway.evm.address import create2_address
from quoteway.models import DeploymentTerms

from corrupting.calldata import Leaf, tree_of, walk
from corrupting.calldata_changes import broken, calldata_everywhere, changed_calldata
from corrupting.values import Values, leaves, other, placed

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
TEXTS = ("", "USDC", "WETH", "sent to you. 1", "0", "Safe: nothing leaves your wallet", "high_price_impact")
ODD_VALUES = (None, -1, 1.5, "1", b"", True, (), {}, float("nan"), 1 << 300, "0x", [1], "\x00", object())
"""What has no place where a provider's answer has a number, a text or an address."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed answer. ``what`` names the kind of the change; ``swapped`` is what was replaced by what."""

    what: str
    well_formed: bool
    answer: Any
    swapped: tuple[Any, Any] | None = None


def everywhere(value: Any, old: Any, new: Any) -> Any:
    """Returns the model with every ``old`` replaced, also inside its calldata."""
    for path, found in list(leaves(value)):
        if isinstance(found, bytes) and len(found) >= 4:
            changed = calldata_everywhere(found, old, new)
            if changed != found:
                value = placed(value, path, changed)
        elif type(found) is type(old) and found == old:
            value = placed(value, path, new)
        elif isinstance(found, str) and found == str(old) and isinstance(old, int):
            value = placed(value, path, str(new))
    return value


# --- members ------------------------------------------------------------------------------------------------


def changed_member(chance: Random, answer: Any, values: Values) -> tuple[str, Any]:
    """Changes one value of a quote or a build to another of its kind. Calldata is left alone."""
    found = [(path, old) for path, old in leaves(answer) if not isinstance(old, bytes) or len(old) < 4]
    # A token has many members and a quote many tokens: choose the kind of the member first.
    name = chance.choice(sorted({_name(path) for path, _ in found}))
    path, old = chance.choice([each for each in found if _name(each[0]) == name])
    return name, placed(answer, path, _like(chance, name, old, values))


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(str(key) for key in path if isinstance(key, str))


def _like(chance: Random, name: str, old: Any, values: Values) -> Any:
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        if name.endswith("decimals"):
            return other(chance, old, (0, 6, 8, 18, old + 1))
        if name.endswith("chain_id"):
            return other(chance, old, (1, 31337, 31338))
        return values.number(chance, old)
    if isinstance(old, float):
        return other(chance, old, (0.0, 2 * old, -old, 1e9))
    if isinstance(old, str):
        if _ADDRESS.fullmatch(old):
            return values.address(chance, old)
        if old.isdecimal():
            return str(values.number(chance, int(old)))
        if re.fullmatch(r"0x[0-9a-f]{64}", old):
            return "0x" + chance.randbytes(32).hex()
        return other(chance, old, TEXTS)
    if old is None:
        if name.endswith(("address", "spender", "refund")):
            return values.thief
        return other(chance, old, (0, 1, *values.numbers))
    return old


def odd_member(chance: Random, answer: Any) -> tuple[str, Any]:
    """Puts a value that does not fit into a member of a quote or a build."""
    path, _ = chance.choice(list(leaves(answer)))
    for _ in range(chance.choice((0, 0, 1))):
        path = path[:-1] or path
    return f"odd {_name(path)}", placed(answer, path, chance.choice(ODD_VALUES))


def changed_row(chance: Random, answer: Any, values: Values) -> tuple[str, Any]:
    """Repeats, drops, adds or reorders rows of a quote or a build: steps, spends, legs, signatures."""
    names = [
        each.name
        for each in fields(answer)
        if isinstance(getattr(answer, each.name), tuple) and each.name not in ("parts",)
    ]
    name = chance.choice([each for each in names if getattr(answer, each)] or names)
    rows = list(getattr(answer, name))
    verb = chance.choice(("repeated", "dropped", "added", "added", "reordered"))
    if verb == "repeated" and rows:
        rows.insert(chance.randrange(len(rows) + 1), chance.choice(rows))
    elif verb == "dropped" and rows:
        rows.pop(chance.randrange(len(rows)))
    elif verb == "added":
        rows.insert(chance.randrange(len(rows) + 1), _added(chance, name, answer, values))
    else:
        chance.shuffle(rows)
    return f"{name} {verb}", replace(answer, **{name: tuple(rows)})


def _added(chance: Random, name: str, answer: Any, values: Values) -> Any:
    token, other = chance.choice(values.tokens), chance.choice(values.addresses)
    amount = chance.choice(values.numbers) if values.numbers else 1
    match name:
        case "steps":
            return _added_step(chance, answer, token, amount, values)
        case "spends":
            puller = chance.choice((None, values.thief, other))
            spender = permit2.ADDRESS if puller else chance.choice((values.thief, other))
            return Spend(token.address, amount, spender, puller, chance.random() < 0.3)
        case "inputs" | "outputs":
            legs = getattr(answer, name) or (Leg(token, amount, values.thief, amount),)
            leg = replace(chance.choice(legs), token=token)
            return replace(leg, account=chance.choice((leg.account, values.thief)))
        case "previews":
            return Preview(values.thief, token.address, values.thief, encode_call("decimals()", []))
        case "signatures":
            permit = permit2.PermitSingle(token.address, amount, 1 << 40, 0, values.thief, 1 << 40)
            return SignatureRequest("permit2-permit-single", permit.typed_data(31337), 0, 4)
        case "fees":
            return Fee("gas", token, amount, True)
    return Notice(chance.choice(TEXTS), chance.choice(TEXTS))


def _added_step(chance: Random, build: Build, token: Token, amount: int, values: Values) -> Step:
    """Returns one more transaction, most of them to the thief's profit."""
    step, thief = chance.choice(build.steps), values.thief
    calls = (
        ("approve(address,uint256)", [thief, amount]),
        ("transfer(address,uint256)", [thief, amount]),
        ("deposit()", []),
        ("withdraw(uint256)", [amount]),
        ("setApprovalForAll(address,bool)", [thief, True]),
        ("transferFrom(address,address,uint256)", [build.steps[0].to, thief, 1]),
    )
    signature, args = chance.choice(calls)
    to = token.address if token.address != NATIVE else chance.choice(values.addresses)
    match chance.choice(("call", "call", "copy", "gift")):
        case "call":
            return replace(step, to=to, data=encode_call(signature, args), value=0)
        case "copy":
            made = changed_calldata(chance, step.data, values)
            return step if made is None else replace(step, data=made[1])
    return replace(step, to=thief, data=b"", value=step.value or 1)


# --- whole answers ------------------------------------------------------------------------------------------


def changed_build(chance: Random, build: Build, values: Values) -> Change | None:
    """Returns a changed build; None when this one has nothing that the chosen change is for."""
    index = chance.randrange(len(build.steps))
    step = build.steps[index]

    def with_step(new: Step) -> Build:
        return replace(build, steps=(*build.steps[:index], new, *build.steps[index + 1 :]))

    if chance.random() < 0.35:
        if chance.random() < 0.7:
            what, data = broken(chance, step.data)
            return Change(what, False, with_step(replace(step, data=data)))
        return Change(*_with_form(odd_member(chance, build), False))
    match chance.choices(
        ("calldata", "target", "value", "member", "row", "everywhere"), (40, 6, 4, 18, 12, 20)
    )[0]:
        case "calldata":
            made = changed_calldata(chance, step.data, values)
            return None if made is None else Change(made[0], True, with_step(replace(step, data=made[1])))
        case "target":
            return Change("target", True, with_step(replace(step, to=values.address(chance, step.to))))
        case "value":
            value = values.number(chance, step.value)
            return Change("value", True, with_step(replace(step, value=value)))
        case "member":
            if isinstance(build.terms, DeploymentTerms) and chance.random() < 0.2:
                terms = elsewhere(build.terms, chance.randbytes(32))
                return Change("predicted address", True, replace(build, terms=terms))
            return Change(*_with_form(changed_member(chance, build, values), True))
        case "row":
            return Change(*_with_form(changed_row(chance, build, values), True))
    return _everywhere(chance, build, values)


def elsewhere(terms: DeploymentTerms, code_hash: bytes) -> DeploymentTerms:
    """Returns the terms of a deployment of other code, at the address that this has."""
    predicted = create2_address(terms.factory, bytes.fromhex(terms.salt[2:]), code_hash)
    return replace(terms, init_code_hash="0x" + code_hash.hex(), predicted_address=predicted)


def changed_quote(chance: Random, quote: Quote, values: Values) -> Change | None:
    """Returns a changed quote."""
    if chance.random() < 0.35:
        return Change(*_with_form(odd_member(chance, quote), False))
    match chance.choices(("member", "row", "everywhere", "two"), (50, 15, 25, 10))[0]:
        case "member":
            return Change(*_with_form(changed_member(chance, quote, values), True))
        case "row":
            return Change(*_with_form(changed_row(chance, quote, values), True))
        case "two":
            first, changed = changed_member(chance, quote, values)
            second, changed = changed_member(chance, changed, values)
            return Change(f"{first} and {second}", True, changed)
    return _everywhere(chance, quote, values)


def _everywhere(chance: Random, answer: Any, values: Values) -> Change | None:
    """Replaces one address, number or text wherever it is: the answer stays consistent with itself."""
    found = [old for _, old in leaves(answer) if isinstance(old, (int, str)) and not isinstance(old, bool)]
    for data in [old for _, old in leaves(answer) if isinstance(old, bytes)]:
        tree = tree_of(data)
        found += [n.value for n in walk(tree) if isinstance(n, Leaf) and isinstance(n.value, (int, str))]
    if not found:
        return None
    old = chance.choice(found)
    if isinstance(old, bool) or old in (0, ""):
        return None
    new = _like(chance, "", old, values)
    kind = "address" if isinstance(old, str) and _ADDRESS.fullmatch(old) else type(old).__name__
    try:
        return Change(f"{kind} everywhere", True, everywhere(answer, old, new), (old, new))
    except (ValueError, OverflowError):
        return None


def _with_form(made: tuple[str, Any], well_formed: bool) -> tuple[str, bool, Any]:
    return made[0], well_formed, made[1]
