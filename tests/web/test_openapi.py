"""The OpenAPI document: valid, complete, and what the server really answers."""

import asyncio
import json
import re

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from quoteway.errors import GatewayError, InvalidRequest, PolicyRefused
from quoteway.networks import Networks
from quoteway.web.app import openapi_document, operations
from quoteway.web.http.cache import CACHE

CONTRACT = """
POST /v2/swaps/quote
POST /v2/swaps/quotes
GET /v2/swaps/price
GET /v2/swaps/depth
GET /v2/swaps/quote/{quoteId}
POST /v2/swaps/{quoteId}/refresh
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
GET /v2/pools/{poolId}/liquidity
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
GET /v2/stream
POST /v2/webhooks
GET /v2/webhooks
GET /v2/webhooks/{webhookId}
DELETE /v2/webhooks/{webhookId}
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
BODY_KINDS = sorted(
    {operation.body for operation in operations() if operation.body}, key=lambda body: body.__name__
)
EXAMPLES = {
    "address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "amount": "1000",
    "asset": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "bot": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "strategy": "idle",
}
STATUS_201 = {
    operation.name for operation in operations() if operation.path.endswith(("/action", "/revoke"))
} | {"createWebhook"}


@pytest.fixture(scope="module")
def document():
    return json.loads(openapi_document())


def body_of(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


def alternatives(document, schema):
    """The object schemas that a schema may stand for."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    found = [each for part in schema.get("oneOf", ()) for each in alternatives(document, part)]
    return found or [schema]


def test_the_document_is_valid(document):
    assert document["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(document).validate()


def test_every_route_of_the_contract_is_there_and_no_other(document):
    found = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert found == set(CONTRACT.split("\n")) - {""}


def test_bodies_hold_the_members_of_the_contract(contract, document):
    for name, members in BODIES.items():
        for found in alternatives(document, body_of(contract.operations[name])):
            assert set(members.split()) <= set(found["properties"]), name
            assert found["additionalProperties"] is False


def test_status_codes_and_closed_requests_and_open_responses(contract, document):
    for name, operation in contract.operations.items():
        assert ("201" in operation["responses"]) == (name in STATUS_201)
    requests = []
    for operation in contract.operations.values():
        if operation["operationId"] != "callRpc" and "requestBody" in operation:
            requests += alternatives(document, body_of(operation))
    for name, schema in document["components"]["schemas"].items():
        assert (schema.get("additionalProperties") is False) == (schema in requests), name


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


# --- descriptions -------------------------------------------------------------------------------------------


def members_of(document):
    """Every member of every schema, with where it is."""
    for name, schema in document["components"]["schemas"].items():
        yield from nested_members(name, schema)


def nested_members(place, schema):
    for name, member in schema.get("properties", {}).items():
        yield f"{place}.{name}", name, member
        yield from nested_members(f"{place}.{name}", member)
    if isinstance(schema.get("items"), dict):
        yield from nested_members(f"{place}[]", schema["items"])


def words(text):
    """The words of a name or sentence that mean something, in the singular."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    found = {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", spaced.lower())}
    return found - {"the", "a", "an", "of", "i", "it", "thi", "that"}


def says_more(name, description):
    """Whether a description has a word that the name does not have."""
    return bool(words(description) - words(name))


def test_every_member_is_described_by_more_than_its_name(document):
    members = list(members_of(document))
    assert len(members) > 1_200
    assert [place for place, _, member in members if "description" not in member] == []
    assert [p for p, name, member in members if not says_more(name, member["description"])] == []


def test_a_description_that_repeats_the_name_is_found():
    assert not says_more("fromToken", "The from token")
    assert not says_more("amountUsd", "Amount (USD)")
    assert not says_more("tokens", "The tokens")
    assert says_more("fromToken", "Token sold")


UNITS = {"Bps": "basis points", "bps": "basis points", "Usd": "US dollars", "Pct": "percent", "Wei": "[Ww]ei"}
UNITS |= {
    "Seconds": "[Ss]econds",
    "Ms": "milliseconds",
    "apr": "fraction",
    "apy": "fraction",
    "share": "[Ff]raction",
}
"""By the end of a name, what its description has to say."""


def test_the_unit_of_a_number_is_told(document):
    schemas, counted = document["components"]["schemas"], 0
    for place, name, member in members_of(document):
        ends = [end for end in UNITS if name.endswith(end)]
        is_number = "number" in (kind := member.get("type", ())) or "integer" in kind or "pattern" in member
        if ends and is_number:
            counted += 1
            assert re.search(UNITS[ends[0]], member["description"]), place
    assert counted > 100
    amounts = [each for each in members_of(document) if each[2].get("pattern") == "^(0|[1-9][0-9]{0,77})$"]
    assert len(amounts) > 50
    vague = {
        place for place, _, member in amounts if not re.search("(base units|[Ww]ei|Decimal)", _told(member))
    }
    assert vague == set()
    assert "basis points" in schemas["Issue"]["properties"]["actual"]["description"]


def _told(member):
    return member["description"].replace("Base units", "base units")


def test_every_operation_parameter_header_and_answer_is_described(document):
    parts = document["components"]
    tags = {tag["name"] for tag in document["tags"]}
    for methods in document["paths"].values():
        for operation in methods.values():
            assert set(operation["tags"]) <= tags
            assert says_more(operation["operationId"], operation["description"]), operation["operationId"]
            for parameter in operation["parameters"]:
                assert says_more(parameter["name"], parameter["description"]), parameter
            for status, response in operation["responses"].items():
                if "$ref" in response:
                    response = parts["responses"][response["$ref"].rpartition("/")[2]]
                assert len(response["description"]) > 5, (operation["operationId"], status)
                assert "X-Request-ID" in response["headers"]
    for name, header in parts["headers"].items():
        assert says_more(name, header["description"])
    assert all(tag["description"] for tag in document["tags"])


def test_the_errors_of_an_operation_are_described_with_their_codes(contract):
    shared = contract.document["components"]["responses"]
    codes = {kind.status: kind.code for kind in GatewayError.__subclasses__()} | dict.fromkeys(
        (408, 413, 415, 421), "invalid_request"
    )
    codes[PolicyRefused.status] = PolicyRefused.code
    envelope = contract.document["components"]["schemas"]["ErrorMembers"]["properties"]["code"]["enum"]
    assert set(envelope) == set(codes.values())
    for name, operation in contract.operations.items():
        for status in {s for s in operation["responses"] if s.isdigit() and int(s) >= 400}:
            reference = operation["responses"][status]["$ref"]
            text = shared[reference.rpartition("/")[2]]["description"]
            assert text.startswith(f"`{codes[int(status)]}`: "), (name, status)


# --- what generators of clients need ------------------------------------------------------------------------


def every_node(node):
    yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from every_node(each)


def test_patterns_repeat_no_more_than_re2_allows(document):
    """RE2 (Go) takes at most 1,000 repetitions, nested ones multiplied, and no look-around."""
    patterns = {
        each["pattern"] for each in every_node(document) if isinstance(each, dict) and "pattern" in each
    }
    assert len(patterns) > 10
    for pattern in patterns:
        counts = [int(n) for pair in re.findall(r"\{(\d+)(?:,(\d*))?\}", pattern) for n in pair if n]
        assert all(count <= 100 for count in counts), pattern
        assert not re.search(r"\(\?(?!:)|\\[1-9]", pattern), pattern
        re.compile(pattern)


def test_optional_members_of_bodies_have_no_default(contract):
    """openapi-typescript makes a member with a default required."""
    bodies = [body_of(each) for each in contract.operations.values() if "requestBody" in each]
    schemas = [each for body in bodies for each in alternatives(contract.document, body)]
    assert len(schemas) > 20
    assert not [each for each in every_node(schemas) if isinstance(each, dict) and "default" in each]
    slippage = contract.document["components"]["schemas"]["SwapQuoteBody"]["properties"]["slippageBps"]
    assert slippage["description"].endswith("Default: `50`")


def test_the_key_is_optional_and_a_bearer_token(document):
    assert document["security"] == [{"apiKey": []}, {}]
    assert document["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"


@pytest.mark.parametrize("body", [body for body in BODY_KINDS if body.cases], ids=lambda body: body.__name__)
def test_the_cases_of_a_body_are_what_the_server_takes(document, body):
    """Each value of ``action`` has one case, and what a case requires is refused when it is missing."""
    schemas = document["components"]["schemas"]
    union = schemas[body.__name__]
    every = body(Networks).fields["action"].choices
    assert set(union["discriminator"]["mapping"]) == set(every)
    for action, reference in union["discriminator"]["mapping"].items():
        case = schemas[reference.rpartition("/")[2]]
        assert action in case["properties"]["action"]["enum"]
        given = {name: EXAMPLES[name] for name in case["required"] if name != "action"} | {"action": action}
        assert body(Networks).accept(given)
        jsonschema.validate(given, {**case, "components": document["components"]})
        for name in set(case["required"]) - {"action"}:
            with pytest.raises(InvalidRequest) as refusal:
                body(Networks).accept({each: value for each, value in given.items() if each != name})
            assert name in {field.path for field in refusal.value.fields}, (action, name)
        if "amount" in case["required"]:
            takes_max = re.search(case["properties"]["amount"]["pattern"], "max") is not None
            if takes_max:
                body(Networks).accept(given | {"amount": "max"})
            else:
                with pytest.raises(InvalidRequest):
                    body(Networks).accept(given | {"amount": "max"})


async def test_answers_have_the_headers_that_the_document_names(api, contract):
    answer = await api.get("/v2/networks")
    assert contract.check("listNetworks", answer)["data"]
    named = contract.operations["listNetworks"]["responses"]["200"]["headers"]
    assert {"ETag", "X-Request-ID", "Cache-Control"} <= set(named)
    assert all(name in answer.headers for name in named if not name.startswith("RateLimit"))
    again = await api.get("/v2/networks", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304
    assert "304" in contract.operations["listNetworks"]["responses"]
