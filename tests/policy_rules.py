"""Rules of policy files, and the one that allows exactly what the answer of an action request shows."""

import json

TABLES = ("pay", "receive", "recipients", "spenders", "contracts")


def toml(*rules):
    """The text of a policy file with these rules, dicts of JSON values."""
    lines = []
    for rule in rules:
        lines.append("[[rules]]")
        lines += [f"{name} = {_value(value)}" for name, value in rule.items()]
    return "\n".join(lines) + "\n"


def _value(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def tight(action, **changes):
    """The rule that allows an action as its answer shows it, and nothing else."""
    here = action["network"]
    steps = list(zip(action["transactions"], action["steps"], strict=True))
    tables = {name: {} for name in TABLES}

    def add(table, network, address):
        listed = tables[table].setdefault(network, [])
        if address not in listed:
            listed.append(address)

    for part in action["parts"] or [action]:
        for leg in part["inputs"]:
            add("pay", here, leg["token"]["address"])
        for leg in part["outputs"]:
            add("receive", leg["token"]["network"], leg["token"]["address"])
    for each in action["recipients"]:
        if (each["network"], each["account"]) != (here, action["from"]):
            add("recipients", each["network"], each["account"])
    for transaction, step in steps:
        add("contracts", here, transaction["to"])
        if step["approval"]:
            # The first argument of approve(spender, amount), the second of Permit2's.
            args = {each["name"]: each["value"] for each in step["decoded"]["args"]}
            add("spenders", here, args["spender"])
    providers = [part["provider"] for part in action["parts"] or [action]]
    rule = {
        "name": "exactly this",
        "senders": [action["from"]],
        "networks": sorted({here, *tables["receive"]}),
        "kinds": [action["kind"] if [*tables["receive"]] == [here] else "bridge"],
        "providers": providers,
        **tables,
        "functions": sorted({name for transaction, step in steps for name in _functions(transaction, step)}),
        "max_price_impact_bps": action["priceImpactBps"] or 0,
        "max_slippage_bps": 50,
        "require_simulation": True,
    }
    return rule | changes


def _functions(transaction, step):
    def inside(calls):
        for call in calls:
            yield call["signature"].partition("(")[0]
            yield from inside(call.get("inner", ()))

    yield transaction["data"][:10]
    yield from inside(step["decoded"].get("inner", ()))
