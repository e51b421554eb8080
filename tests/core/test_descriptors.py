"""ERC-7730 descriptors: made by the core of what it knows of a call, so that a wallet shows the arguments."""

import json
import re

import pytest
from quoteway.evm.abi import function
from quoteway.evm.calls.described import Described
from quoteway.evm.calls.known_calls import DESCRIBED
from quoteway.evm.calls.registry import CallRegistry
from quoteway.models import (
    CallDescription,
    ContractDescription,
    DeployedAt,
    PaymentRoles,
    SpendRoles,
    Step,
)
from quoteway.networks import Network

ROUTER = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
TOKENS = ("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
MAX_BYTES = 3_000

CALLS = [(kind, call) for kind, calls in DESCRIBED.items() for call in calls]
NAMES = [f"{kind} {call.declaration.partition('(')[0]}" for kind, call in CALLS]


def descriptor(call):
    return json.loads(Described(call).descriptor(1, ROUTER))


def form_of(found):
    (form,) = found["display"]["formats"].values()
    return form


def type_at(path, inputs):
    """The ABI type at a path as in ERC-7730: names of members, places of items, slices of bytes."""
    members, type_ = inputs, None
    for step in path.removeprefix("#.").split("."):
        if step.startswith("["):
            if ":" in step:
                assert type_ == "bytes32", path
                type_ = "address"
                continue
            assert type_.endswith("[]"), path
            type_ = type_.removesuffix("[]")
        else:
            (member,) = (each for each in members if each["name"] == step)
            type_, members = member["type"], member.get("components", ())
    return type_


def signature(inputs):
    def canonical(each):
        if not each["type"].startswith("tuple"):
            return each["type"]
        return signature(each["components"]) + each["type"].removeprefix("tuple")

    return f"({','.join(map(canonical, inputs))})"


@pytest.mark.parametrize(("kind", "call"), CALLS, ids=NAMES)
def test_every_path_of_every_known_call_resolves_in_the_abi(kind, call):
    text = Described(call).descriptor(1, ROUTER)
    found = json.loads(text)
    assert len(text) <= MAX_BYTES
    assert found["context"]["contract"]["deployments"] == [{"chainId": 1, "address": ROUTER}]
    (abi,) = found["context"]["contract"]["abi"]
    # The declared ABI is that of the function: its canonical signature, by another parser.
    assert abi["name"] + signature(abi["inputs"]) == function(call.declaration).signature
    assert list(found["display"]["formats"]) == [function(call.declaration).signature]
    form = form_of(found)
    kinds = {
        "amount": ("uint256",),
        "tokenAmount": ("uint256", "uint128"),
        "addressName": ("address",),
        "date": ("uint256", "uint32"),
        "raw": ("uint256", "bytes32", "uint128"),
    }
    for field in form["fields"]:
        assert set(field) <= {"path", "label", "format", "params"}
        if not field["path"].startswith("@"):
            assert type_at(field["path"], abi["inputs"]) in kinds[field["format"]]
        token = field.get("params", {}).get("tokenPath", "@.to")
        assert token == "@.to" or type_at(token, abi["inputs"]) == "address"
    for path in form["excluded"]:
        assert type_at(path.replace("[]", "[0]"), abi["inputs"])
    shown = [field["path"] for field in form["fields"]]
    assert len(set(shown)) == len(shown)
    assert not {*shown} & {*form["excluded"]}


@pytest.mark.parametrize(("kind", "call"), CALLS, ids=NAMES)
def test_every_role_is_shown(kind, call):
    """As many as the description has paths to values; tokens of amounts are in their formats."""
    shown = {re.sub(r"\W", "", field["path"]) for field in form_of(descriptor(call))["fields"]}
    amounts = [path for spent in call.spends for path in (spent.amount, spent.minimum)]
    paid = [path for pay in call.pays for path in (pay.recipient, pay.minimum, pay.chain_id)]
    for path in (*amounts, *paid, call.deadline, call.refund, call.owner, *call.members.values()):
        if path is not None and "[" not in path:
            assert re.sub(r"\W", "", path) in shown


def test_a_swap_reads_as_its_contract_enforces_it():
    router = DESCRIBED["uniswap.v2-router"]
    (call,) = (call for call in router if call.declaration.startswith("swapExactTokensForETH("))
    assert form_of(descriptor(call)) == {
        "intent": "Swap",
        "fields": [
            {
                "path": "#.amountIn",
                "label": "Pay at most",
                "format": "tokenAmount",
                "params": {"tokenPath": "#.path.[0]", "nativeCurrencyAddress": "0x" + "0" * 40},
            },
            {"path": "#.amountOutMin", "label": "Receive at least", "format": "amount"},
            {"path": "#.to", "label": "Recipient", "format": "addressName"},
            {
                "path": "#.deadline",
                "label": "Valid until",
                "format": "date",
                "params": {"encoding": "timestamp"},
            },
        ],
        "excluded": [],
    }


def test_of_a_plugin_only_names_of_arguments_are_shown():
    call = CallDescription(
        "exchange(tuple(address sold, bytes note)[2][] memory orders, uint, address payable to, "
        "uint256 least, bytes32 tag) returns (uint256 got)",
        "swap",
        spends=(SpendRoles("#.orders.[0].[1].[0]", "#.arg1"),),
        pays=(PaymentRoles(TOKENS[0], "#.to", "#.least"),),
        members={"Send everything to me, it is safe": "#.tag"},
    )
    found = descriptor(call)
    (abi,) = found["context"]["contract"]["abi"]
    assert abi["inputs"][0]["type"] == "tuple[2][]"
    assert abi["name"] + signature(abi["inputs"]) == function(call.declaration).signature
    form = form_of(found)
    assert [field["path"] for field in form["fields"]] == ["#.arg1", "#.least", "#.to", "#.tag"]
    assert form["fields"][0]["params"]["tokenPath"] == "#.orders.[0].[1].sold"
    assert form["fields"][1]["format"] == "raw", "the token is not in the calldata"
    assert form["excluded"] == ["#.orders.[].[].note"]
    assert form["fields"][3]["label"] == "tag"
    assert "safe" not in json.dumps(found)


def test_a_reading_has_the_descriptor_of_its_contract():
    calls = CallRegistry([Network("ethereum", 1, "Ethereum")])
    args = [10, 9, TOKENS, USER, 2_000_000_000]
    swap = function(
        "swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, "
        "uint256 deadline)"
    )
    reading = calls.read(Step(ROUTER, swap.encode(args), 0, 1), USER)
    found = json.loads(reading.descriptor)
    assert found["context"]["contract"]["deployments"] == [{"chainId": 1, "address": ROUTER}]
    elsewhere = "0x1111111111111111111111111111111111111111"
    stop = CallDescription("stop()", "pause")
    calls.add([ContractDescription("fork", (stop,), (DeployedAt(1, elsewhere),))])
    reading = calls.read(Step(elsewhere, function("stop()").encode([]), 0, 1), USER)
    assert json.loads(reading.descriptor)["display"]["formats"] == {
        "stop()": {"intent": "Pause", "fields": [], "excluded": []}
    }
