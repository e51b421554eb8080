"""A gateway over the devnet whose custody policy a test sets."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import quoteway_erc4626
from crossings import PLUGINS, plugin_sections, read_lists
from direct_client import Client, FarNode
from policy_rules import toml
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig
from quoteway.config.network import NetworkConfig
from quoteway.config.policy import PolicyConfig
from quoteway.engine.audit_log import AuditLog
from quoteway.guard.policy_file import parse_policy
from quoteway.networks import Endpoint
from quoteway.testing.serving import served
from quoteway_devnet.relayer import Relayer


class Desk(Client):
    """A client of a gateway whose policy can be changed between two requests."""

    def follow(self, *rules, audit=None):
        """Decides by these rules from now on; without any, by no policy. ``audit`` is the path of a log."""
        building = self.api.gateway.building
        policy = parse_policy(toml(*rules).encode(), "test") if rules else None
        log = AuditLog(audit) if audit else None
        building.custody = replace(building.custody, policy=policy, audit=log)

    async def refused(self, quote):
        """The violations of the action of a quote: {rule: [subject, ...]}."""
        answer = await self.api.post(f"/v2/swaps/{quote['quoteId']}/action")
        return await self.violations(answer)

    async def violations(self, answer, operation="createSwapAction"):
        assert answer.status == 403, answer.body
        await self.api.check(operation, answer)
        error = answer.refused(403, "validation_error", "policy_refused")
        found = {}
        for each in error["details"]["violations"]:
            assert each["message"] in error["message"]
            found.setdefault(each["rule"], []).append(each["subject"])
        return found


@contextlib.asynccontextmanager
async def strict_desk(devnet, folder):
    """The desk of a gateway whose policy file allows nothing. The devnet is as before after it."""
    file = folder / "policy.toml"
    file.write_text('[[rules]]\nname = "nothing"\nnetworks = []\n')
    with devnet.restored(), Relayer.running(devnet) as relayer:
        async with desk_of(devnet, policy_file=str(file), relayer_port=relayer.port) as desk:
            yield desk


@contextlib.asynccontextmanager
async def desk_of(
    devnet, plugins=None, policy_file=None, relayer_port=1, nodes=1, quorum=None, sections=None
):
    """A desk of a gateway that reads the devnet through one or two nodes."""
    async with FarNode(devnet.urls["devnet"]).running() as url:
        endpoints = Endpoint(url), Endpoint(devnet.urls["devnet"])
        config = Config(
            server=replace(ServerConfig(), port=0),
            limits=LimitsConfig(enabled=False),
            quotes=QuotesConfig(competition_timeout_s=30.0, acknowledge_price_impact_bps=None),
            networks={"devnet": NetworkConfig(rpc=endpoints[:nodes], quorum=quorum)},
            plugin_sections=plugin_sections(devnet, relayer_port) | (sections or {}),
            policy=PolicyConfig(file=policy_file),
        )
        async with served(PLUGINS | {"erc4626": quoteway_erc4626} | (plugins or {}), config) as api:
            await read_lists(api.gateway)
            yield Desk(api, devnet, FarNode(url))
