"""A small API, and changes of it: those that break its clients, with what is said of them, and additions."""

import copy
import json


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def told(schema, **headers):
    return {"headers": headers, "content": {"application/json": {"schema": schema}}}


def document():
    """A small API with a union, a reference to itself, nulls, a map, and a shared error."""
    order = {
        "type": "object",
        "additionalProperties": False,
        "required": ["action"],
        "properties": {
            "action": {"type": "string", "enum": ["buy", "sell"]},
            "amount": {"type": "string", "pattern": "^[0-9]+$", "maxLength": 78},
            "price": {"type": "number", "minimum": 0},
            "side": {"type": "string"},
            "tags": {"type": "array", "maxItems": 4, "items": {"type": "string"}},
            "limit": {"type": ["integer", "null"]},
        },
    }
    deal = {
        "type": "object",
        "required": ["id", "state", "paid", "parts", "fees"],
        "properties": {
            "id": {"type": "integer", "format": "int64"},
            "state": {"type": "string", "enum": ["open", "done"]},
            "paid": {"type": "string", "pattern": "^[0-9]+$"},
            "note": {"type": ["string", "null"]},
            "parts": {"type": "array", "items": ref("Deal")},
            "fees": {"type": "object", "additionalProperties": {"type": "string"}},
            "best": {"anyOf": [ref("Deal"), {"type": "null"}]},
        },
    }
    return {
        "info": {"title": "A", "version": "1", "description": "words"},
        "security": [{"key": []}, {}],
        "paths": {
            "/v2/deals": {
                "get": {
                    "operationId": "listDeals",
                    "parameters": [
                        {
                            "in": "query",
                            "name": "limit",
                            "schema": {"type": "integer", "maximum": 200, "default": 50},
                        },
                        {"$ref": "#/components/parameters/State"},
                    ],
                    "responses": {
                        "200": told({"type": "array", "items": ref("Deal")}, ETag={}),
                        "default": {"$ref": "#/components/responses/Failed"},
                    },
                },
                "post": {
                    "operationId": "createDeal",
                    "requestBody": {"content": {"application/json": {"schema": ref("Order")}}},
                    "responses": {"201": told(ref("Deal")), "404": {"$ref": "#/components/responses/Failed"}},
                },
            }
        },
        "components": {
            "parameters": {"State": {"in": "query", "name": "state", "schema": {"type": "string"}}},
            "responses": {"Failed": told({"type": "object", "properties": {"code": {"type": "string"}}})},
            "schemas": {"Order": order, "Deal": deal},
        },
    }


LIST, CREATE = "GET /v2/deals", "POST /v2/deals"


def operation(made, method):
    return made["paths"]["/v2/deals"][method]


def sent(made):
    return made["components"]["schemas"]["Order"]


def answered(made):
    return made["components"]["schemas"]["Deal"]


def divided(made, without=()):
    """The body as a union by action, without the actions given."""
    whole = sent(made)
    cases = []
    for action in ("buy", "sell"):
        if action not in without:
            case = copy.deepcopy(whole)
            case["properties"]["action"]["enum"] = [action]
            made["components"]["schemas"][f"Order{action}"] = case
            cases.append(ref(f"Order{action}"))
    made["components"]["schemas"]["Order"] = {"oneOf": cases, "discriminator": {"propertyName": "action"}}


def set_in(node, **members):
    node.update(members)


def renamed(made):
    """Gives the schema of orders another name, at each place that names it."""
    text = json.dumps(made).replace('schemas/Order"', 'schemas/Trade"').replace('"Order":', '"Trade":')
    made.clear()
    made.update(json.loads(text))


BREAKS = {
    "a renamed schema": (renamed, "Order: the schema is removed or renamed"),
    "a removed path": (lambda d: d["paths"].clear(), f"{LIST}: the operation is removed"),
    "a removed operation": (
        lambda d: d["paths"]["/v2/deals"].pop("post"),
        f"{CREATE}: the operation is removed",
    ),
    "another operationId": (
        lambda d: set_in(operation(d, "get"), operationId="deals"),
        f"{LIST}: operationId is deals, was listDeals",
    ),
    "a key that is needed": (
        lambda d: set_in(d, security=[{"key": []}]),
        f"{LIST}: a way to authenticate, or to call without a key, is removed",
    ),
    "a removed parameter": (
        lambda d: operation(d, "get")["parameters"].pop(0),
        f"{LIST}: query parameter limit: the parameter is removed",
    ),
    "a parameter that is required": (
        lambda d: set_in(d["components"]["parameters"]["State"], required=True),
        f"{LIST}: query parameter state: the parameter is required now",
    ),
    "a new required parameter": (
        lambda d: operation(d, "get")["parameters"].append(
            {"in": "query", "name": "network", "required": True, "schema": {"type": "string"}}
        ),
        f"{LIST}: query parameter network: the parameter is new and required",
    ),
    "a parameter with a narrower limit": (
        lambda d: set_in(operation(d, "get")["parameters"][0]["schema"], maximum=100),
        f"{LIST}: query parameter limit: maximum is 100, was 200",
    ),
    "another default": (
        lambda d: set_in(operation(d, "get")["parameters"][0]["schema"], default=20),
        f"{LIST}: query parameter limit: default is 20, was 50",
    ),
    "a removed body": (
        lambda d: operation(d, "post").pop("requestBody"),
        f"{CREATE}: the request body is removed",
    ),
    "a body that is required": (
        lambda d: set_in(operation(d, "post")["requestBody"], required=True),
        f"{CREATE}: the request body is required now",
    ),
    "a body of another kind": (
        lambda d: set_in(
            operation(d, "post")["requestBody"], content={"application/cbor": {"schema": ref("Order")}}
        ),
        f"{CREATE}: a request body of application/json is no longer taken",
    ),
    "a removed request member": (
        lambda d: sent(d)["properties"].pop("side"),
        f"{CREATE}: request.side: the member is removed",
    ),
    "a request member that is required": (
        lambda d: sent(d)["required"].append("amount"),
        f"{CREATE}: request.amount: the member is required now",
    ),
    "a new required request member": (
        lambda d: (sent(d)["required"].append("who"), set_in(sent(d)["properties"], who={"type": "string"})),
        f"{CREATE}: request.who: the member is new and required",
    ),
    "a removed value of a request": (
        lambda d: sent(d)["properties"]["action"]["enum"].remove("sell"),
        f'{CREATE}: request.action: the value "sell" is no longer taken',
    ),
    "listed values where any were taken": (
        lambda d: set_in(sent(d)["properties"]["side"], enum=["in"]),
        f"{CREATE}: request.side: only listed values are taken now",
    ),
    "a narrower type in a request": (
        lambda d: set_in(sent(d)["properties"]["price"], type="integer"),
        f"{CREATE}: request.price: number is no longer taken",
    ),
    "null that a request may not have": (
        lambda d: set_in(sent(d)["properties"]["limit"], type="integer"),
        f"{CREATE}: request.limit: null is no longer taken",
    ),
    "another pattern of a request": (
        lambda d: set_in(sent(d)["properties"]["amount"], pattern="^[1-9]+$"),
        f"{CREATE}: request.amount: pattern is ^[1-9]+$, was ^[0-9]+$",
    ),
    "an alternative that replaces a pattern": (
        lambda d: set_in(sent(d)["properties"]["amount"], pattern="^(max|[1-9]|[|)0-9]+)$"),
        f"{CREATE}: request.amount: pattern is ^(max|[1-9]|[|)0-9]+)$, was ^[0-9]+$",
    ),
    "a pattern where there was none": (
        lambda d: set_in(sent(d)["properties"]["side"], pattern="^in$"),
        f"{CREATE}: request.side: pattern is ^in$, was None",
    ),
    "a shorter text in a request": (
        lambda d: set_in(sent(d)["properties"]["amount"], maxLength=10),
        f"{CREATE}: request.amount: maxLength is 10, was 78",
    ),
    "a higher minimum in a request": (
        lambda d: set_in(sent(d)["properties"]["price"], minimum=1),
        f"{CREATE}: request.price: minimum is 1, was 0",
    ),
    "fewer items in a request": (
        lambda d: set_in(sent(d)["properties"]["tags"], maxItems=2),
        f"{CREATE}: request.tags: maxItems is 2, was 4",
    ),
    "other items in a request": (
        lambda d: set_in(sent(d)["properties"]["tags"]["items"], type="integer"),
        f"{CREATE}: request.tags[]: string is no longer taken",
    ),
    "a case of a union that is gone": (
        lambda d: divided(d, without=("sell",)),
        f'{CREATE}: request.action: the value "sell" is no longer taken',
    ),
    "a removed success status": (
        lambda d: operation(d, "post")["responses"].pop("201"),
        f"{CREATE}: 201: the answer is removed",
    ),
    "a removed error status": (
        lambda d: operation(d, "post")["responses"].pop("404"),
        f"{CREATE}: 404: the answer is removed",
    ),
    "a new success status": (
        lambda d: set_in(operation(d, "post")["responses"], **{"202": told(ref("Deal"))}),
        f"{CREATE}: 202: the success status is new",
    ),
    "a removed header": (
        lambda d: operation(d, "get")["responses"]["200"]["headers"].clear(),
        f"{LIST}: 200: the header ETag is removed",
    ),
    "an answer of another kind": (
        lambda d: set_in(operation(d, "post")["responses"]["201"], content={"text/csv": {"schema": {}}}),
        f"{CREATE}: 201: an answer of application/json is no longer given",
    ),
    "a removed member of an answer": (
        lambda d: answered(d)["properties"].pop("note"),
        f"{LIST}: 200[].note: the member is removed",
    ),
    "a removed member of a shared error": (
        lambda d: d["components"]["responses"]["Failed"]["content"]["application/json"]["schema"][
            "properties"
        ].clear(),
        f"{LIST}: default.code: the member is removed",
    ),
    "a member of an answer that may be left out": (
        lambda d: answered(d)["required"].remove("paid"),
        f"{LIST}: 200[].paid: the member may be left out now",
    ),
    "a member of an answer that may be null": (
        lambda d: set_in(answered(d)["properties"]["paid"], type=["string", "null"]),
        f"{LIST}: 200[].paid: null is new",
    ),
    "another type in an answer": (
        lambda d: set_in(answered(d)["properties"]["paid"], type="integer"),
        f"{LIST}: 200[].paid: integer is new",
    ),
    "another format in an answer": (
        lambda d: set_in(answered(d)["properties"]["id"], format="int32"),
        f"{LIST}: 200[].id: format is int32, was int64",
    ),
    "another pattern in an answer": (
        lambda d: set_in(answered(d)["properties"]["paid"], pattern="^-?[0-9]+$"),
        f"{LIST}: 200[].paid: pattern is ^-?[0-9]+$, was ^[0-9]+$",
    ),
    "an answer that has lost its pattern": (
        lambda d: answered(d)["properties"]["paid"].pop("pattern"),
        f"{LIST}: 200[].paid: pattern is None, was ^[0-9]+$",
    ),
    "a new value of a closed list in an answer": (
        lambda d: answered(d)["properties"]["state"]["enum"].append("lost"),
        f'{LIST}: 200[].state: the value "lost" is new',
    ),
    "a closed list in an answer that is open now": (
        lambda d: answered(d)["properties"]["state"].pop("enum"),
        f"{LIST}: 200[].state: the values are no longer listed",
    ),
    "other values of a map": (
        lambda d: set_in(answered(d)["properties"]["fees"]["additionalProperties"], type="number"),
        f"{LIST}: 200[].fees.*: number is new",
    ),
    "a new alternative in an answer": (
        lambda d: answered(d)["properties"]["best"]["anyOf"].append({"type": "string"}),
        f"{LIST}: 200[].best: string is new",
    ),
}

ADDITIONS = {
    "an alternative beside a pattern of a request": lambda d: set_in(
        sent(d)["properties"]["amount"], pattern="^(max|[|)]+(a|b)|[0-9]+)$"
    ),
    "nothing": lambda d: None,
    "words": lambda d: set_in(answered(d)["properties"]["paid"], description="Base units", example="1"),
    "a path": lambda d: set_in(d["paths"], **{"/v2/more": {"get": operation(d, "get")}}),
    "an operation": lambda d: set_in(d["paths"]["/v2/deals"], put=operation(d, "post")),
    "a default that is said now": lambda d: set_in(sent(d)["properties"]["side"], default="in"),
    "an optional parameter": lambda d: operation(d, "get")["parameters"].append(
        {"in": "query", "name": "sort", "schema": {"type": "string"}}
    ),
    "an optional request member": lambda d: set_in(sent(d)["properties"], who={"type": "string"}),
    "a request member that is no longer required": lambda d: sent(d)["required"].clear(),
    "a value of a request": lambda d: sent(d)["properties"]["action"]["enum"].append("hold"),
    "a wider type in a request": lambda d: set_in(sent(d)["properties"]["limit"], type=["number", "null"]),
    "a request without a limit": lambda d: sent(d)["properties"]["amount"].pop("maxLength"),
    "a request without a pattern": lambda d: sent(d)["properties"]["amount"].pop("pattern"),
    "a union of what was one body": divided,
    "a member of an answer": lambda d: set_in(answered(d)["properties"], more={"type": "string"}),
    "a required member of an answer": lambda d: answered(d)["required"].append("note"),
    "an answer that is never null": lambda d: set_in(answered(d)["properties"]["note"], type="string"),
    "a value that an answer no longer has": lambda d: answered(d)["properties"]["state"]["enum"].pop(),
    "a pattern of an answer": lambda d: set_in(answered(d)["properties"]["note"], pattern="^a"),
    "an error status": lambda d: set_in(operation(d, "get")["responses"], **{"409": told({})}),
    "a header": lambda d: set_in(operation(d, "post")["responses"]["201"]["headers"], Age={}),
}
