"""Decides answers of action requests by a policy, as docs/how-to/restrict-what-may-be-signed.md describes it.

It reads the JSON of the answer and the rules as plain data, and shares no code with the gateway.
"""

from fractions import Fraction

from eth_utils import function_signature_to_4byte_selector

NATIVE = "0x" + "0" * 40
PERMIT2_PERMIT = "PERMIT2_PERMIT(((address,uint160,uint48,uint48),address,uint256),bytes)"


def judged(rules, answer, levels, quorums, used):
    """Every (member, subject) that the rules do not allow. Empty: the action is allowed."""
    sender = answer["from"].lower()
    for rule in rules:
        if "senders" not in rule or sender in lowered(rule["senders"]):
            return set(refused(rule, answer, levels, quorums, used))
    return {("senders", sender)}


def lowered(values):
    return [each.lower() for each in values]


def refused(rule, answer, levels, quorums, used):
    here, sender = answer["network"], answer["from"].lower()
    parts = answer["parts"] or ([answer] if answer["kind"] != "revocation" else [])
    inputs = [leg for part in parts for leg in part["inputs"]]
    outputs = [leg for part in parts for leg in part["outputs"]]
    changes = answer["simulation"]["assetChanges"]
    gains = [each for each in changes if int(each["delta"]) > 0]

    # networks, quorum, kinds
    elsewhere = {leg["token"]["network"] for leg in outputs} - {here}
    for network in {here, *elsewhere}:
        if "networks" in rule and network not in rule["networks"]:
            yield "networks", network
        if "quorum" in rule and quorums.get(network, 0) < rule["quorum"]:
            yield "quorum", network
    kind = "bridge" if elsewhere else answer["kind"]
    if "kinds" in rule and kind not in rule["kinds"]:
        yield "kinds", kind

    # providers
    for part in parts:
        if "providers" in rule and part["provider"] not in rule["providers"]:
            yield "providers", part["provider"]
        level = levels.get(part["provider"])
        if "least_level" in rule and (level is None or level < rule["least_level"]):
            yield "least_level", part["provider"]

    # spenders
    grants = [(token, spender, amount) for token, spender, amount in allowances(answer) if amount]
    for _, spender, _ in grants:
        if not listed(rule, "spenders", here, spender):
            yield "spenders", spender

    # pay, max_amounts, amounts_per_time
    most = {}
    for leg in inputs:
        token = leg["token"]["address"].lower()
        most[token] = most.get(token, 0) + int(leg["amountMax"] or leg["amount"])
    more = [(token, amount) for token, _, amount in grants]
    more += [
        (each["token"].lower(), -int(each["delta"]))
        for each in changes
        if each["account"].lower() == sender and int(each["delta"]) < 0
    ]
    more.append((NATIVE, sum(int(each["value"], 16) for each in answer["transactions"])))
    for token, amount in more:
        if amount > 0:
            most[token] = max(most.get(token, 0), amount)
    decimals = {
        leg["token"]["address"].lower(): leg["token"]["decimals"]
        for leg in (*outputs, *inputs)
        if leg["token"]["network"] == here
    }
    for token, amount in most.items():
        if not listed(rule, "pay", here, token):
            yield "pay", token
        for name, limit in rule.get("max_amounts", {}).get(here, {}).items():
            if named(name) == token:
                known = decimals.get(token)
                if known is None or amount > Fraction(limit) * 10**known:
                    yield "max_amounts", token
        for limit in rule.get("amounts_per_time", []):
            if (limit["network"], named(limit["token"])) == (here, token):
                known = decimals.get(token)
                before = -(-Fraction(used.get(limit["name"], 0)) * 10 ** (known or 0) // 1)
                if known is None or amount + before > Fraction(limit["amount"]) * 10**known:
                    yield "amounts_per_time", token

    # receive
    received = [(leg["token"]["network"], leg["token"]["address"]) for leg in outputs]
    received += [(here, each["token"]) for each in gains]
    for network, token in received:
        if not listed(rule, "receive", network, token):
            yield "receive", token.lower()

    # recipients
    accounts = [(each["network"], each["account"]) for each in answer["recipients"]]
    accounts += [(here, each["account"]) for each in gains]
    for network, account in accounts:
        own = account.lower() == sender
        if own and (network == here or "sender" in rule.get("recipients", {}).get(network, [])):
            continue
        if not listed(rule, "recipients", network, account):
            yield "recipients", account.lower()

    # contracts, functions, allow_opaque
    allowed = {function_named(each) for each in rule.get("functions", [])}
    for transaction, step in zip(answer["transactions"], answer["steps"], strict=True):
        if not listed(rule, "contracts", here, transaction["to"]):
            yield "contracts", transaction["to"].lower()
        for name, call in calls(transaction, step):
            if "functions" in rule and name not in allowed:
                yield "functions", name
            if call.get("opaque") and not rule.get("allow_opaque"):
                yield "allow_opaque", name
    for each in answer["signatures"]:
        if each["typedData"]["primaryType"] != "PermitSingle" and not rule.get("allow_opaque"):
            yield "allow_opaque", each["kind"]

    # max_price_impact_bps, max_slippage_bps
    if "max_price_impact_bps" in rule:
        impact = answer["priceImpactBps"]
        swaps = [
            part
            for part in parts
            if part["kind"] == "swap" and {leg["token"]["network"] for leg in part["outputs"]} <= {here}
        ]
        if (impact is None and swaps) or (impact is not None and impact > rule["max_price_impact_bps"]):
            yield "max_price_impact_bps", None
    if "max_slippage_bps" in rule:
        share = Fraction(rule["max_slippage_bps"], 10_000)
        for leg in outputs:
            # One base unit of rounding, of an amount that is rounded down.
            if leg["amountMin"] is None or int(leg["amountMin"]) + 1 < int(int(leg["amount"]) * (1 - share)):
                yield "max_slippage_bps", leg["token"]["address"].lower()
        for leg in inputs:
            rounded_up = -(-int(leg["amount"]) * (1 + share) // 1)
            if leg["amountMax"] is not None and int(leg["amountMax"]) - 1 > rounded_up:
                yield "max_slippage_bps", leg["token"]["address"].lower()

    # require_simulation
    if rule.get("require_simulation"):
        if answer["simulation"]["status"] != "success":
            yield "require_simulation", None
        for each in answer["simulation"]["assumptions"]:
            yield "require_simulation", each.lower()


def named(text):
    return NATIVE if text in ("native", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE") else text.lower()


def listed(rule, member, network, address):
    if member not in rule:
        return True
    return address.lower() in [named(each) for each in rule[member].get(network, [])]


def function_named(text):
    if text.startswith("0x"):
        return text.lower()
    return "0x" + function_signature_to_4byte_selector(text).hex() if "(" in text else text


def calls(transaction, step):
    yield transaction["data"][:10], step["decoded"]
    waiting = list(step["decoded"].get("inner", []))
    while waiting:
        call = waiting.pop()
        waiting += call.get("inner", [])
        name, _, rest = call["signature"].partition("(")
        command = rest and name == name.upper() and name[0].isalpha()
        yield (name if command else function_named(call["signature"])), call


def allowances(answer):
    """(token, spender, amount) of what is approved, permitted, asked to be signed, offered or left."""
    for transaction, step in zip(answer["transactions"], answer["steps"], strict=True):
        contract = transaction["to"].lower()
        for _, call in calls(transaction, step):
            args = [each["value"] for each in call["args"]]
            match call["signature"]:
                case "approve(address,uint256)" | "increaseAllowance(address,uint256)":
                    yield contract, args[0].lower(), int(args[1])
                case "setApprovalForAll(address,bool)":
                    yield contract, args[0].lower(), 2**256 - 1 if args[1] else 0
                case "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)":
                    yield contract, args[1].lower(), int(args[2])
                case "approve(address,address,uint160,uint48)":
                    yield args[0].lower(), args[1].lower(), int(args[2])
                case signature if signature == PERMIT2_PERMIT:
                    ((token, amount, *_), spender, _), _ = args
                    yield token.lower(), spender.lower(), int(amount)
    for each in answer["signatures"]:
        if each["typedData"]["primaryType"] == "PermitSingle":
            message = each["typedData"]["message"]
            details = message["details"]
            yield details["token"].lower(), message["spender"].lower(), int(details["amount"])
    for each in answer["permitOffers"]:
        permit = each["permit"]
        yield permit["token"].lower(), permit["spender"].lower(), int(permit["value"])
    for each in answer["simulation"]["allowanceChanges"]:
        if each["owner"].lower() == answer["from"].lower():
            yield each["token"].lower(), each["spender"].lower(), int(each["after"])
