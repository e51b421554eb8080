"""Serves a gateway over a real socket and provides a client."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from quoteway.config.model import Config
    from quoteway.engine.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with its JSON body."""

    status: int
    body: Any
    headers: Mapping[str, str]

    def refused(
        self, status: int, code: str, reason: str | None = None, member: str | None = None
    ) -> Mapping[str, Any]:
        """Returns the error. Fails unless it has this status, code and reason, and names ``member``."""
        assert self.status == status, self.body
        error: Mapping[str, Any] = self.body["error"]
        assert error["code"] == code, error
        details = error.get("details", {})
        assert reason is None or details["reason"] == reason, error
        assert member is None or member in {field["path"] for field in details["fields"]}, error
        return error


@dataclass(frozen=True, slots=True)
class Served:
    """A running service; ``get`` and ``post`` take paths such as ``/v2/vaults``."""

    url: str
    gateway: Gateway
    session: aiohttp.ClientSession

    async def get(self, path: str) -> Answer:
        async with self.session.get(self.url + path) as response:
            return Answer(response.status, await response.json(), response.headers)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        async with self.session.post(self.url + path, json=body) as response:
            return Answer(response.status, await response.json(), response.headers)

    async def check(self, operation: str, answer: Answer) -> None:
        """Fails unless an answer matches the schema of ``/v2/openapi.json`` without additional members.

        Needs jsonschema (``quoteway[dev]``).
        """
        jsonschema: Any = importlib.import_module("jsonschema")  # has no types
        document = (await self.get("/v2/openapi.json")).body
        for schema in document["components"]["schemas"].values():
            if "properties" in schema:
                schema["additionalProperties"] = (
                    False  # the published schema allows more members; tests do not
                )
        operations = {
            each["operationId"]: each for methods in document["paths"].values() for each in methods.values()
        }
        response = operations[operation]["responses"][str(answer.status)]
        if "$ref" in response:  # an error, which all operations share
            response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        schema = response["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        jsonschema.Draft202012Validator(whole).validate(answer.body)


@contextlib.asynccontextmanager
async def served(
    plugins: Mapping[str, Any], config: Config | None = None, *, clock: Callable[[], float] = time.time
) -> AsyncIterator[Served]:
    """Serves a gateway with these plugins on a free port of 127.0.0.1 during the block.

    Without ``config``, rate limits are too high for tests to reach, and the competition timeout is 30 s, so
    that tests pass on a busy machine. ``clock`` is the gateway's time, Unix seconds.
    """
    from aiohttp import web

    from quoteway.config.limits import LimitsConfig
    from quoteway.config.model import Config, QuotesConfig
    from quoteway.config.server import ServerConfig
    from quoteway.engine.gateway import Gateway
    from quoteway.server.serve import make_runner
    from quoteway.testing.fakes import pinned
    from quoteway.web.app import make_app

    if config is None:
        limits = LimitsConfig(quotes="100000/minute", catalog="100000/minute", rpc="100000/minute")
        quotes = QuotesConfig(competition_timeout_s=30.0)
        config = Config(server=replace(ServerConfig(), port=0), limits=limits, quotes=quotes)
    gateway = Gateway(pinned(config, plugins), plugins=dict(plugins), discover=False, clock=clock)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        await gateway.started()
        async with aiohttp.ClientSession() as session:
            yield Served(f"http://127.0.0.1:{runner.addresses[0][1]}", gateway, session)
    finally:
        await runner.cleanup()
