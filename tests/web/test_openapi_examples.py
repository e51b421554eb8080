"""The examples of the OpenAPI document: each operation has some, and each fits its schema."""

import copy
import json

import jsonschema
import pytest
from quoteway.web.app import openapi_document, operations
from quoteway.web.http.openapi_parts import ERRORS

JSON = "application/json"
NEVER_REFUSED = {"getIndexStatus"}
"""It takes nothing that could be wrong."""


@pytest.fixture(scope="module")
def document():
    return json.loads(openapi_document())


@pytest.fixture(scope="module")
def described(document):
    return {each["operationId"]: each for methods in document["paths"].values() for each in methods.values()}


@pytest.fixture(scope="module")
def closed(document):
    """The document's components without members beside those declared."""
    components = copy.deepcopy(document["components"])
    for schema in components["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return components


@pytest.fixture(scope="module")
def fits(closed):
    def check(schema, value):
        jsonschema.Draft202012Validator({**schema, "components": closed}).validate(value)

    return check


NAMES = sorted(operation.name for operation in operations())


@pytest.mark.parametrize("name", NAMES)
def test_each_operation_has_a_request_and_an_answer_that_fit_their_schemas(described, fits, name):
    operation = described[name]
    shown = [each for each in operation["parameters"] if "example" in each]
    needed = {each["name"] for each in operation["parameters"] if each["required"]}
    assert needed <= {each["name"] for each in shown}
    for parameter in shown:
        fits(parameter["schema"], parameter["example"])
    if "requestBody" in operation:
        body = operation["requestBody"]["content"][JSON]
        fits(body["schema"], body["example"])
    succeeded = [status for status in operation["responses"] if status in ("200", "201")]
    (status,) = succeeded
    (answer,) = operation["responses"][status]["content"].values()
    fits(answer["schema"], answer["example"])


@pytest.mark.parametrize("name", NAMES)
def test_each_operation_has_an_error_with_a_code_of_its_status(document, described, fits, name):
    shown = {}
    for status, response in described[name]["responses"].items():
        shared = document["components"]["responses"].get(response.get("$ref", "").rpartition("/")[2])
        if shared is not None and name in (examples := shared["content"][JSON].get("examples", {})):
            shown[status] = examples[name]["value"]
            fits(shared["content"][JSON]["schema"], shown[status])
    assert bool(shown) != (name in NEVER_REFUSED)
    codes = {"400": "invalid_request", "404": "not_found", "422": "validation_error"}
    codes |= {"401": "unauthorized", "503": "provider_unavailable"}
    assert all(error["error"]["code"] == codes[status] for status, error in shown.items())


def test_examples_tell_nothing_of_the_machine_that_recorded_them(document):
    text = json.dumps(document)
    assert not [
        word for word in ("127.0.0.1", "localhost", "/tmp", "/home", "/work", "/root") if word in text
    ]


def test_the_shared_errors_are_not_changed_by_a_document():
    assert all("examples" not in error["content"][JSON] for error in ERRORS.values())
