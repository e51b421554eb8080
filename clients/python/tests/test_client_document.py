"""The client beside the OpenAPI document, and beside the server's code, of which it needs nothing."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from quoteway_client import AsyncQuoteway, Quoteway, models

ROOT = Path(__file__).parents[3]
DOCUMENT = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())
OPERATIONS = {
    operation["operationId"]: (method.upper(), path)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def operations_of(client):
    """Functions that build calls, by operation id, of a client's resources."""
    found = {}
    for resource in vars(client).values():
        if type(resource).__module__.startswith("quoteway_client.operations."):
            for _, method in inspect.getmembers(type(resource), inspect.isfunction):
                build = inspect.unwrap(method)
                if build.__module__ == "quoteway_client.resource":  # how a resource is made
                    continue
                first, *words = build.__name__.split("_")
                found[first + "".join(word.title() for word in words)] = build
    return found


@pytest.mark.parametrize("kind", [Quoteway, AsyncQuoteway])
def test_every_operation_of_the_document_is_a_method(kind):
    built = operations_of(kind("https://gateway.example"))
    acts = {"actSwap", "actBridge", "actPool", "actVault"}
    assert set(built) - acts == set(OPERATIONS) - {"callRpc", "openStream"}
    assert acts <= set(built)
    assert callable(kind.rpc)


def test_each_call_goes_to_the_path_of_its_operation():
    for operation_id, build in operations_of(Quoteway("https://gateway.example")).items():
        if operation_id not in OPERATIONS:
            continue
        method, path = OPERATIONS[operation_id]
        given = inspect.signature(build).parameters.values()
        ids = [each.name for each in given if each.kind is each.POSITIONAL_OR_KEYWORD]
        needed = {
            each.name: "1" for each in given if each.kind is each.KEYWORD_ONLY and each.default is each.empty
        }
        call = build(*ids, **needed)
        assert (call.method, call.path.count("/")) == (method, path.count("/"))
        fixed = [part for part in path.split("/") if "{" not in part]
        assert [part for part in call.path.split("/") if part not in ids] == fixed
        assert call.returns is getattr(models, call.returns.__name__)


def test_every_member_of_an_answer_is_a_member_of_its_model():
    for name, schema in DOCUMENT["components"]["schemas"].items():
        model = getattr(models, name, None)
        if model is not None and hasattr(model, "__struct_encode_fields__"):
            assert set(model.__struct_encode_fields__) == set(schema["properties"]), name


def test_the_client_imports_neither_the_server_nor_what_its_extras_bring():
    program = (
        "import sys, quoteway_client\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'quoteway', 'eth_account', 'eth_abi', 'eth_utils', 'jwt', 'aiohttp', 'web3'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
