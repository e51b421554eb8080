"""Checks that a served provider proves how good its quotes are, for tests of plugins with certificates."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quoteway.config.model import Config
from quoteway.server.verify_quote import verify
from quoteway.testing.serving import Served

PATIENCE_S = 60.0


async def certified_quote(api: Served, body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a swap quote with its certificate, asked again while the solver starts.

    Raises ``TimeoutError`` after ``PATIENCE_S``, and ``AssertionError`` for a quote that is refused.
    """
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await api.post("/v2/swaps/quote", {**body, "certificate": "full"})
            assert answer.status == 200, answer.body
            found: dict[str, Any] = answer.body
            if found["optimality"] is not None and "certificate" in found["optimality"]:
                return found
            await asyncio.sleep(0.1)


async def check_verified(config: Config, answer: Mapping[str, Any], rpc_url: str, folder: Path) -> None:
    """Fails unless ``quoteway verify-quote`` verifies an answer, and refuses it with anything changed."""
    assert await _wrong(config, answer, rpc_url, folder) == [], answer["provider"]
    changed = copy.deepcopy(dict(answer))
    told = changed["optimality"]
    told["bound"] = str(int(told["bound"]) - 1)
    assert "bound" in await _wrong(config, changed, rpc_url, folder)
    changed = copy.deepcopy(dict(answer))
    changed["optimality"]["certificate"]["pools"][0]["digest"] = "0x" + "00" * 32
    assert await _wrong(config, changed, rpc_url, folder) == ["states"]
    changed["optimality"]["certificate"]["pools"][0]["pool"] = "0x" + "11" * 20
    assert await _wrong(config, changed, rpc_url, folder) == ["pools"]
    changed = copy.deepcopy(dict(answer))
    changed["toAmount"] = str(int(answer["toAmount"]) + 1)
    assert "route" in await _wrong(config, changed, rpc_url, folder)


async def _wrong(config: Config, answer: Mapping[str, Any], rpc_url: str, folder: Path) -> list[str]:
    file = folder / "quote.json"
    file.write_text(json.dumps(answer))
    found = await verify(config, file, rpc_url)
    return [check.subject for check in found.checks if not check.holds]
