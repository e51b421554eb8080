"""The OpenAPI document: valid, complete, and what the server really answers."""

import asyncio
import json
import re

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from quoteway.web.app import openapi_document, operations
from quoteway.web.http.cache import CACHE

CONTRACT = """
POST /v2/swaps/quote
POST /v2/swaps/quotes
GET /v2/swaps/price
GET /v2/swaps/depth
GET /v2/swaps/quote/{quoteId}
POST /v2/swaps/{quoteId}/action
POST /v2/bridges/{quoteId}/action
POST /v2/vaults/{vaultId}/quote
POST /v2/vaults/{vaultId}/action
POST /v2/vaults/{vaultId}/manage/action
POST /v2/vaults/deploy/quote
POST /v2/vaults/deploy/action
GET /v2/vaults/{vaultId}
GET /v2/vaults/{vaultId}/tvl
GET /v2/vaults/{vaultId}/apy
POST /v2/pools/{poolId}/quote
POST /v2/pools/{poolId}/action
GET /v2/pools/{poolId}
GET /v2/pools/{poolId}/volume
GET /v2/pools/{poolId}/fees
GET /v2/pools/{poolId}/apr
POST /v2/transactions/{txId}/submit
POST /v2/transactions/{txId}/submit-hash
GET /v2/tokens/{id}
POST /v2/rpc/{chainId}
GET /v2/tokens
GET /v2/pools
GET /v2/vaults
GET /v2/providers
GET /v2/providers/{id}/performance
GET /v2/pools/{poolId}/tvl
GET /v2/pools/{poolId}/positions
POST /v2/vaults/{vaultId}/rebalance/action
GET /v2/bridges/routes
POST /v2/bridges/quote
GET /v2/portfolio/approvals
POST /v2/portfolio/approvals/revoke
GET /v2/portfolio/balances
POST /v2/portfolio/balances
GET /v2/portfolio/positions
GET /v2/portfolio/activity
GET /v2/portfolio/history
GET /v2/portfolio/pnl
GET /v2/prices
GET /v2/prices/history
GET /v2/index/status
GET /v2/transactions/{txId}
GET /v2/networks
GET /v2/index/status
"""
BODIES = {
    "createSwapQuote": "address amount fromChain fromToken network slippageBps toAddress toChain toToken",
    "createVaultQuote": "action address amount asset",
    "createVaultAction": "action address amount asset",
    "createVaultManageAction": "action address amount asset",
    "createVaultDeployQuote": "asset bot network owner strategy",
    "createVaultDeployAction": "asset bot network owner strategy",
    "createPoolQuote": "action address amount asset",
    "createPoolAction": "action address amount asset",
    "submitTransaction": "signedPayload",
    "submitTransactionHash": "hash",
}
STATUS_201 = {operation.name for operation in operations() if operation.path.endswith(("/action", "/revoke"))}


@pytest.fixture(scope="module")
def document():
    return json.loads(openapi_document())


def test_the_document_is_valid(document):
    assert document["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(document).validate()


def test_every_route_of_the_contract_is_there_and_no_other(document):
    found = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert found == set(CONTRACT.split("\n")) - {""}


def test_bodies_hold_the_members_of_the_contract(contract, document):
    for name, members in BODIES.items():
        schema = contract.operations[name]["requestBody"]["content"]["application/json"]["schema"]
        found = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert set(members.split()) <= set(found["properties"]), name
        assert found["additionalProperties"] is False


def test_status_codes_and_closed_requests_and_open_responses(contract, document):
    for name, operation in contract.operations.items():
        assert ("201" in operation["responses"]) == (name in STATUS_201)
    requests = {operation.body.__name__ for operation in operations() if operation.body}
    for name, schema in document["components"]["schemas"].items():
        assert (schema.get("additionalProperties") is False) == (name in requests), name


def test_members_are_camel_case(document):
    for schema in document["components"]["schemas"].values():
        for name in schema.get("properties", {}):
            assert re.fullmatch(r"[a-z][a-zA-Z0-9]*", name), name


async def test_it_is_served(api, document):
    answer = await api.get("/v2/openapi.json")
    assert answer.body == document
    assert (
        await api.get("/v2/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})
    ).status == 304


async def test_it_is_made_once_whatever_query_a_caller_invents(api):
    for number in range(3):
        assert (await api.get(f"/v2/openapi.json?made={number}")).status == 200
    kept = api.app[CACHE].entries.values()
    assert len(kept) == 3
    assert len({id(rendered.body) for rendered in kept}) == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_schemathesis_finds_nothing(serve_app, fake_plugin, refused):
    """Generated requests, good and bad: every answer is documented, in its schema, and never a 500."""
    fakes = await serve_app({"fakes": fake_plugin})
    failures: list[str] = []
    counted = 0

    def run():
        nonlocal counted
        import hypothesis
        import schemathesis

        loaded = schemathesis.openapi.from_url(f"{fakes.url}/v2/openapi.json")
        checks = [
            schemathesis.checks.not_a_server_error,
            schemathesis.specs.openapi.checks.status_code_conformance,
            schemathesis.specs.openapi.checks.content_type_conformance,
            schemathesis.specs.openapi.checks.response_schema_conformance,
        ]
        generation = schemathesis.GenerationMode
        for result in loaded.get_all_operations():
            operation = result.ok()
            for mode in (generation.POSITIVE, generation.NEGATIVE):

                @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
                @hypothesis.settings(
                    max_examples=8,
                    database=None,
                    suppress_health_check=list(hypothesis.HealthCheck),
                )
                def attempt(case):
                    nonlocal counted
                    counted += 1
                    response = case.call(timeout=60)
                    if response.status_code in (502, 503):  # documented refusals, in the envelope
                        assert set(response.json()) == {"error"}, response.text
                        return
                    case.validate_response(response, checks=checks)

                try:
                    attempt()
                except hypothesis.errors.Unsatisfiable:
                    continue
                except BaseException as error:
                    failures.append(f"{operation.label}: {error!r:.1500}")

    await asyncio.to_thread(run)
    assert not failures, "\n\n".join(failures)
    assert counted > 250
    assert (await fakes.get("/healthz")).status == 200


def test_every_member_of_every_request_is_described(contract):
    document = contract.document
    bare = []
    for methods in document["paths"].values():
        for operation in methods.values():
            members = {each["name"]: each | each["schema"] for each in operation.get("parameters", [])}
            body = operation.get("requestBody")
            if body is not None:
                schema = body["content"]["application/json"]["schema"]
                if "oneOf" in schema:  # JSON-RPC: a call, or an array of calls
                    schema = schema["oneOf"][0]
                else:
                    schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
                members |= schema["properties"]
            bare += [
                (operation["operationId"], name) for name in members if "description" not in members[name]
            ]
    assert not bare
