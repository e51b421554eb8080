"""Swaps through a gateway whose first node of three lies, lags or is on another fork, under a quorum of two.

``python -m bench liars`` runs many rounds of quote, action and execution.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import orjson
from crossings import PLUGINS, plugin_sections, read_lists
from direct_client import USER, Client, FarNode
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig
from quoteway.config.network import NetworkConfig
from quoteway.networks import Endpoint
from quoteway.testing.serving import served

PAIRS = (("USDC", "WETH", 10**6), ("WETH", "USDC", 10**14), ("ETH", "USDC", 10**14), ("USDC", "ETH", 10**6))
BEHIND = 20
NOT_FOUND = {"code": -32000, "message": "header not found"}


class Liar(FarNode):
    """Answers about headers like the others, and lies of everything that happens at a block."""

    def __init__(self, url, seed=1):
        super().__init__(url)
        self.chance = random.Random(seed)
        self.lies = Counter()

    async def answer(self, body, session):
        answer = orjson.loads(await super().answer(body, session))
        if "result" in answer:
            lie = self.lie(body["method"], answer["result"])
            self.lies[body["method"]] += lie != answer["result"]
            answer["result"] = lie
        return orjson.dumps(answer)

    def lie(self, method, result):
        if method in ("eth_getBalance", "eth_getTransactionCount"):
            return hex(int(result, 16) * 2 + 1)
        if method == "eth_getCode":
            return "0x"
        if method == "eth_getLogs":
            return result[:-1]
        if method in ("eth_call", "eth_getStorageAt"):
            return self.changed(result)
        if method == "eth_simulateV1":
            return [{**block, "calls": [self.call(call) for call in block["calls"]]} for block in result]
        if method.startswith("eth_getBlockBy") and result:
            return {**result, "baseFeePerGas": hex(int(result["baseFeePerGas"], 16) + 10**9)}
        return result

    def call(self, call):
        logs = [{**log, "data": self.changed(log["data"])} for log in call["logs"]]
        return {**call, "returnData": self.changed(call["returnData"]), "logs": logs}

    def changed(self, data):
        """Makes one 32-byte word a tenth greater."""
        words = (len(data) - 2) // 64
        if not words:
            return data
        at = 2 + 64 * self.chance.randrange(words)
        word = int(data[at : at + 64], 16)
        word = min(2**256 - 1, word + word // 10 + 1)
        return f"{data[:at]}{word:064x}{data[at + 64 :]}"


class StateLiar(Liar):
    """Tells the truth of headers, so that it is believed to be a good node."""

    def lie(self, method, result):
        return result if method.startswith("eth_getBlock") else super().lie(method, result)


class Laggard(FarNode):
    """Knows no block of the newest ``BEHIND``."""

    async def answer(self, body, session):
        newest = int(orjson.loads(await super().answer(_ask("eth_blockNumber"), session))["result"], 16)
        held, params = max(0, newest - BEHIND), list(body["params"])
        for at, value in enumerate(params):
            if value == "latest":
                params[at] = hex(held)
            elif isinstance(value, dict) and "blockHash" in value:
                asked = _ask("eth_getBlockByHash", value["blockHash"], False)
                block = orjson.loads(await super().answer(asked, session))["result"]
                if block is None or int(block["number"], 16) > held:
                    return orjson.dumps({"jsonrpc": "2.0", "id": body["id"], "error": NOT_FOUND})
        number = params[0] if body["method"] == "eth_getBlockByNumber" else None
        if number is not None and number.startswith("0x") and int(number, 16) > held:
            return orjson.dumps({"jsonrpc": "2.0", "id": body["id"], "result": None})
        return await super().answer({**body, "params": params}, session)


class Forker(Liar):
    """Has blocks of its own in place of the others': with other hashes and another state."""

    async def answer(self, body, session):
        params = orjson.dumps(body["params"])
        if b'"blockHash":"0x' in params:
            if b'"blockHash":"0xf0f0' not in params:
                return orjson.dumps({"jsonrpc": "2.0", "id": body["id"], "error": NOT_FOUND})
            newest = {
                **body,
                "params": [
                    "latest" if isinstance(p, dict) and "blockHash" in p else p for p in body["params"]
                ],
            }
            return await super().answer(newest, session)
        return await super().answer(body, session)

    def lie(self, method, result):
        if method.startswith("eth_getBlockBy") and result:
            return {**result, "hash": "0xf0f0" + result["hash"][6:]}
        return super().lie(method, result)


def _ask(method, *params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}


FIRST = {"liar": Liar, "liar of states": StateLiar, "laggard": Laggard, "forker": Forker}


@contextlib.asynccontextmanager
async def client_of(devnet, nodes, quorum=2):
    """A client of a gateway over ``nodes``, in this order."""
    async with contextlib.AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(node.running()) for node in nodes]
        endpoints = tuple(Endpoint(url, name=f"node-{at}") for at, url in enumerate(urls))
        config = Config(
            server=replace(ServerConfig(), port=0),
            limits=LimitsConfig(enabled=False),
            quotes=QuotesConfig(competition_timeout_s=30.0),
            networks={"devnet": NetworkConfig(rpc=endpoints, quorum=quorum)},
            plugin_sections=plugin_sections(devnet, 1),
        )
        api = await stack.enter_async_context(served(PLUGINS, config))
        await read_lists(api.gateway)
        yield Client(api, devnet, nodes[-1])


def forgive(client):
    """Lets nodes back into use that contradicted the others, so that they go on lying."""
    for entry in client.api.gateway.registry.providers:
        if entry.provider.id == "rpc":
            entry.provider.agreement.forgive()


@dataclass
class Rounds:
    """What came of rounds of quote, action and execution."""

    done: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0


async def rounds(client, count, seed, tick=lambda: None):
    """Quotes and acts ``count`` times, and carries each action out on the real chain, to the wei."""
    chance, found, began = random.Random(seed), Rounds(), time.monotonic()
    for at in range(count):
        forgive(client)
        sold, got, unit = chance.choice(PAIRS)
        amount = unit * chance.randint(1, 1000)
        body = {"network": "devnet", "fromToken": client.token(sold), "toToken": client.token(got)}
        quoted = await client.api.post("/v2/swaps/quote", {**body, "amount": str(amount), "address": USER})
        if quoted.status not in (200, 201):
            found.errors.append(f"round {at}: quote: {quoted.body['error']}")
            continue
        acted = await client.api.post(f"/v2/swaps/{quoted.body['quoteId']}/action", None)
        if acted.status not in (200, 201):
            found.errors.append(f"round {at}: action: {acted.body['error']}")
            continue
        try:
            await client.carry_out(quoted.body, acted.body)
        except AssertionError as error:
            found.wrong.append(f"round {at}: {sold} to {got}, {amount}: {error}")
        found.done += 1
        tick()
    found.seconds = time.monotonic() - began
    return found
