"""Writes the client's models and operations from the OpenAPI document of the API.

``python clients/python/generate.py`` writes them, with ``--check`` it fails when a file is not up to date.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from api_document import Document, Schema, answer_type, camel, is_integer, request_type, snake

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "reference" / "openapi.json"
PACKAGE = HERE / "src" / "quoteway_client"
HEADER = "Written by clients/python/generate.py from the OpenAPI document: do not edit."
LINE = 110

# Class and method of each operation. A new operation of the document needs a row here.
NAMES = {
    "listProviders": "deployment.providers",
    "listNetworks": "deployment.networks",
    "getProviderPerformance": "deployment.performance",
    "getIndexStatus": "deployment.index_status",
    "listTokens": "tokens.list",
    "getToken": "tokens.get",
    "getPrices": "prices.get",
    "getPriceHistory": "prices.history",
    "createSwapQuote": "swaps.quote",
    "createSwapQuotes": "swaps.quotes",
    "getSwapQuote": "swaps.get_quote",
    "refreshSwapQuote": "swaps.refresh",
    "createSwapAction": "swaps.action",
    "getSwapPrice": "swaps.price",
    "getSwapDepth": "swaps.depth",
    "listBridgeRoutes": "bridges.routes",
    "createBridgeQuote": "bridges.quote",
    "createBridgeAction": "bridges.action",
    "listPools": "pools.list",
    "getPool": "pools.get",
    "createPoolQuote": "pools.quote",
    "createPoolAction": "pools.action",
    "getPoolTvl": "pools.tvl",
    "getPoolVolume": "pools.volume",
    "getPoolFees": "pools.fees",
    "getPoolApr": "pools.apr",
    "listPoolPositions": "pools.positions",
    "getPoolLiquidity": "pools.liquidity",
    "listVaults": "vaults.list",
    "getVault": "vaults.get",
    "createVaultQuote": "vaults.quote",
    "createVaultAction": "vaults.action",
    "createVaultDeployQuote": "vaults.deploy_quote",
    "createVaultDeployAction": "vaults.deploy_action",
    "createVaultManageAction": "vaults.manage",
    "createVaultRebalanceAction": "vaults.rebalance",
    "getVaultTvl": "vaults.tvl",
    "getVaultApy": "vaults.apy",
    "submitTransaction": "transactions.submit",
    "submitTransactionHash": "transactions.submit_hash",
    "trackTransaction": "transactions.track",
    "getPortfolioBalances": "portfolio.balances",
    "listBalancesOfWallets": "portfolio.balances_of_wallets",
    "getPortfolioPositions": "portfolio.positions",
    "getPortfolioApprovals": "portfolio.approvals",
    "createRevocation": "portfolio.revoke",
    "getPortfolioActivity": "portfolio.activity",
    "getPortfolioHistory": "portfolio.history",
    "getPortfolioPnl": "portfolio.pnl",
    "createWebhook": "webhooks.create",
    "listWebhooks": "webhooks.list",
    "getWebhook": "webhooks.get",
    "deleteWebhook": "webhooks.delete",
}
# Quotes and revocations are compared with what was asked, before the caller sees them.
CHECKS = {
    "createSwapQuote": "partial(swap_quoted, body)",
    "createBridgeQuote": "partial(swap_quoted, body)",
    "createPoolQuote": "partial(place_quoted, pool_id, body)",
    "createVaultQuote": "partial(place_quoted, vault_id, body)",
    "createRevocation": "partial(revocation_built, body)",
}
"""What compares the answer with the request, by operation."""
COMPARING = {
    "comparing": "swap_quoted",
    "comparing_places": "place_quoted",
    "revocations": "revocation_built",
}
"""The modules of what compares."""
# A quote's action beside the plain operation: it takes the quote, and compares the action with it.
ACTS = {"swaps": "act_swap", "bridges": "act_bridge", "pools": "act_pool", "vaults": "act_vault"}
TITLES = {
    "deployment": "Providers, networks and the index of the deployment.",
    "tokens": "Listed tokens.",
    "prices": "Prices of tokens in USD.",
    "swaps": "Swaps: quotes, actions, prices and depth.",
    "bridges": "Transfers between networks.",
    "pools": "Liquidity pools: lists, quotes, actions, series and positions.",
    "vaults": "Vaults: lists, quotes, actions, deployments and series.",
    "transactions": "What became of transactions that were built.",
    "portfolio": "Balances, positions, approvals and history of wallets.",
    "webhooks": "Signed webhooks: registrations of the API key.",
}


def doc(text: str, indent: int = 4) -> str:
    """A docstring of a text."""
    text = text.replace("\\", "\\\\").strip().rstrip(".") + "."
    parts = re.sub(r"(?<!\n)\n(?![\n`])", " ", text).split("\n")
    lines = [line for part in parts for line in textwrap.wrap(part, LINE - indent - 6) or [""]]
    ending = "" if len(lines) == 1 else "\n"
    return textwrap.indent('"""' + "\n".join(lines) + ending + '"""', " " * indent)


def model(document: Document, name: str) -> str:
    """The class of a schema: a struct for answers, a TypedDict for bodies."""
    lines: list[str] = []
    required = document.required(name)
    if is_body(document, name):
        lines += [
            f"class {name}(TypedDict, total=False):",
            doc(f"Body of a request: `{name}` of the document"),
        ]
        for member, declared in document.members(name).items():
            type_ = request_type(declared)
            lines.append(f"    {snake(member)}: {f'Required[{type_}]' if member in required else type_}")
            lines.append(doc(declared.get("description", member)))
        return "\n".join(lines)
    lines += [f"class {name}(Model, frozen=True, kw_only=True):"]
    lines += [doc(document.schemas[name].get("description") or f"`{name}` of the document")]
    for member, declared in document.members(name).items():
        type_, default = answer_type(declared), ""
        if member not in required:
            type_, default = type_ if type_.endswith("| None") else f"{type_} | None", " = None"
        if camel(snake(member)) != member:
            default = f' = field(name="{member}"{", default=None" if default else ""})'
        lines.append(f"    {snake(member)}: {type_}{default}")
        if "description" in declared:
            lines.append(doc(declared["description"]))
    return "\n".join(lines)


def is_body(document: Document, name: str) -> bool:
    """Whether a schema is that of a request."""
    schema = document.schemas[name]
    return schema.get("additionalProperties") is False or "oneOf" in schema


def models_module(document: Document, home: str) -> str:
    """A file of ``models``."""
    names = [name for name, where in document.homes.items() if where == home]
    text = "\n\n\n".join(model(document, name) for name in names)
    shared = [
        name
        for name, where in document.homes.items()
        if where == "shared" and re.search(rf"\b{name}\b", text)
    ]
    imports = ["from __future__ import annotations", ""]
    used = {word for word in ("Mapping", "Sequence") if f"{word}[" in text}
    imports += [f"from collections.abc import {', '.join(sorted(used))}"] if used else []
    imports += ["from datetime import datetime"] if "datetime" in text else []
    words = ("Any", "Literal", "Required", "TypedDict")
    typed = [word for word in words if re.search(rf"\b{word}\b(?=[\],|\[) ]|$)", text, re.M)]
    imports += [f"from typing import {', '.join(typed)}"] if typed else []
    imports += ["", "from msgspec import field"] if "field(" in text else [""]
    wire = [word for word in ("Model", "Quantity") if re.search(rf"[(: ]{word}\b", text)]
    imports += [f"from quoteway_client.wire import {', '.join(wire)}"] if wire else []
    if home != "shared" and shared:
        imports.append(f"from quoteway_client.models.shared import {', '.join(sorted(shared))}")
    title = "several resources" if home == "shared" else home
    return f'"""Models of {title}.\n\n{HEADER}\n"""\n\n' + "\n".join(imports) + "\n\n\n" + text + "\n"


def builder(document: Document, method: str, path: str, operation: Schema) -> str:
    """The function that builds the call of an operation."""
    answer, body = document.answer(operation), document.body(operation)
    positional, keywords, query = [], [], []
    for parameter in operation.get("parameters", ()):
        name, declared = parameter["name"], parameter["schema"]
        if parameter["in"] == "path":
            positional.append(f"{argument(name, operation)}: str")
        elif parameter["in"] == "query":
            several = name == "tokens" and declared.get("type") == "string"
            type_ = "str | Sequence[str]" if several else request_type(declared)
            keywords.append(
                f"{snake(name)}: {type_}" + ("" if parameter.get("required") else " | None = None")
            )
            query.append(f'"{name}": {snake(name)}')
    keywords.sort(key=lambda each: each.endswith("= None"))
    parts = [*positional, *(["*"] if keywords else []), *keywords]
    parts += [f"**body: Unpack[{body}]"] if body else []
    filled = re.sub(r"\{(\w+)\}", lambda found: "{segment(" + argument(found[1], operation) + ")}", path)
    arguments = [json.dumps(method), ("f" if "{" in filled else "") + json.dumps(filled), answer]
    arguments += [f"query={{{', '.join(query)}}}"] if query else []
    arguments += ["body=body"] if body else []
    check = CHECKS.get(operation["operationId"])
    arguments += [f"check={check}"] if check else []
    said = operation["summary"] + ".\n\n" + operation.get("description", "")
    named = [
        f"``{argument(each['name'], operation)}``: {each['description']}"
        for each in operation.get("parameters", ())
        if each["in"] != "header" and "description" in each
    ]
    said += "\n\n" + "\n".join(named) if named else ""
    return "\n".join(
        [
            f"def {snake(operation['operationId'])}({', '.join(parts)}) -> Call[{answer}]:",
            doc(said),
            f"    return Call({', '.join(arguments)})",
        ]
    )


def argument(name: str, operation: Schema) -> str:
    """The argument of a parameter. One called `id` is named after what it is the id of."""
    return (
        snake(operation["operationId"].removeprefix("get")).split("_")[0] + "_id"
        if name == "id"
        else snake(name)
    )


def operations_module(document: Document, tag: str) -> str:
    """A file of ``operations``: the calls of a resource, and the resource of each client."""
    listed = [each for each in document.operations if each[2]["tags"][0] == tag]
    text = "\n\n\n".join(builder(document, *each) for each in listed)
    classes = []
    for prefix, once, rows in (("", "Blocking", "Listed"), ("Async", "Awaited", "AsyncListed")):
        lines = [
            f"class {prefix}{tag.title()}Operations(Resource{'Async' if prefix else ''}):",
            doc(TITLES[tag]),
            "",
        ]
        for _, _, operation in listed:
            operation_id = operation["operationId"]
            resource, _, method = NAMES[operation_id].partition(".")
            assert resource == tag, operation_id
            paged = "nextCursor" in document.schemas[document.answer(operation)]["properties"]
            lines.append(f"    {method} = {rows if paged else once}({snake(operation_id)})")
        if tag in ACTS:
            lines.append(f"    act = {once}({ACTS[tag]})")
        classes.append("\n".join(lines))
    whole = text + "\n\n\n" + "\n\n\n".join(classes) + "\n"
    imports = ["from __future__ import annotations", ""]
    imports += ["from collections.abc import Sequence"] if "Sequence[" in text else []
    imports += ["from functools import partial"] if "partial(" in text else []
    typed = [word for word in ("Literal", "Unpack") if f"{word}[" in text]
    imports += [f"from typing import {', '.join(typed)}"] if typed else []
    imports += [""]
    if tag in ACTS:
        imports.append(f"from quoteway_client.acting import {ACTS[tag]}")
    imports += ["from quoteway_client.calls import Call" + (", segment" if "segment(" in text else "")]
    used = [name for name in document.homes if re.search(rf"\b{name}\b", text)]
    for module, name in COMPARING.items():
        imports += [f"from quoteway_client.{module} import {name}"] if name in text else []
    for home, names in itertools.groupby(
        sorted(used, key=lambda n: (document.homes[n], n)), document.homes.get
    ):
        imports.append(f"from quoteway_client.models.{home} import {', '.join(names)}")
    kinds = ("AsyncListed", "Awaited", "Blocking", "Listed", "Resource", "ResourceAsync")
    bound = [word for word in kinds if re.search(rf"[ (]{word}\b(?=[()])", whole)]
    imports.append(f"from quoteway_client.resource import {', '.join(bound)}")
    return f'"""{TITLES[tag]}\n\n{HEADER}\n"""\n\n' + "\n".join(imports) + "\n\n\n" + whole


def files(document: Document) -> Iterator[tuple[Path, str]]:
    """Every generated file with its text."""
    amounts = {
        snake(member)
        for name in document.schemas
        if "Body" in name
        for member, declared in _flat(document.schemas[name])
        if declared.get("type") == "string" and is_integer(declared)
    }
    homes = sorted(set(document.homes.values()))
    imported = "\n".join(
        f"from quoteway_client.models.{home} import {', '.join(sorted(names))}"
        for home in homes
        for names in [[name for name, where in document.homes.items() if where == home]]
    )
    exported = "\n".join(f'    "{name}",' for name in sorted(document.homes))
    yield (
        PACKAGE / "models" / "__init__.py",
        f'"""Every model of the API.\n\n{HEADER}\n"""\n\n{imported}\n\n__all__ = [\n{exported}\n]\n',
    )
    yield (
        PACKAGE / "models" / "amounts.py",
        f'"""Members of requests that are integers here and decimal text on the wire.\n\n{HEADER}\n"""\n\n'
        f"AMOUNTS = frozenset({sorted(amounts)!r})\n",
    )
    for home in homes:
        yield PACKAGE / "models" / f"{home}.py", models_module(document, home)
    for tag in sorted({NAMES[each[2]["operationId"]].partition(".")[0] for each in document.operations}):
        yield PACKAGE / "operations" / f"{tag}.py", operations_module(document, tag)


def _flat(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for member, declared in schema.get("properties", {}).items():
        yield member, declared
        yield from _flat(declared.get("items", {}))


def formatted(path: Path, text: str) -> str:
    """The text as ruff formats it, with sorted imports."""
    for command in (["check", "--select", "I,F401", "--fix-only"], ["format"]):
        done = subprocess.run(  # noqa: S603 - with arguments of this file alone
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(path), "-"],
            input=text, capture_output=True, text=True, check=True,
        )  # fmt: skip
        text = done.stdout
    return text


def main() -> None:
    """Writes or checks the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a file is not up to date")
    check = parser.parse_args().check
    document = Document(DOCUMENT.read_text())
    stale = []
    for path, text in files(document):
        wanted = formatted(path, text)
        if not path.exists() or path.read_text() != wanted:
            stale.append(str(path.relative_to(HERE)))
            if not check:
                path.write_text(wanted)
    if check and stale:
        raise SystemExit(f"not up to date: {', '.join(stale)}; run python clients/python/generate.py")


if __name__ == "__main__":
    main()
