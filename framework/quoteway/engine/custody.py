"""Decides every action of a gateway by the custody policy of its deployment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import cast

from quoteway import models
from quoteway.config.model import Config
from quoteway.config.run_folder import RUN_POLICY, kept
from quoteway.engine.amounts_per_time import UNDECIDED, AmountsPerTime
from quoteway.engine.audit_log import AuditError, AuditLog
from quoteway.engine.held_amounts import HeldAmounts, StoreUnavailable
from quoteway.engine.quote_tokens import TransactionCommitment
from quoteway.engine.screening import Screening
from quoteway.engine.settlement import Settlement
from quoteway.errors import ConfigError, PolicyRefused, ProviderUnavailable, Reason
from quoteway.guard.policy import decide
from quoteway.guard.policy_amounts import charges_of
from quoteway.guard.policy_facts import Facts, facts_of
from quoteway.guard.policy_file import Policy, read_policy
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.providers import RpcUpstream
from quoteway.secrets import Secret

log = logging.getLogger("quoteway.engine.custody")

_NOT_WRITTEN = models.Violation("audit", "the decision could not be written to the audit log")


@dataclass(frozen=True, slots=True)
class Custody:
    """Decides the actions of one gateway. ``policy`` None: every action passes."""

    policy: Policy | None
    runtime: Runtime
    registry: Registry
    audit: AuditLog | None = None
    amounts: AmountsPerTime | None = None

    @classmethod
    def of(cls, config: Config, runtime: Runtime, registry: Registry) -> Custody:
        """Returns what a configuration asks for. Raises ``ConfigError`` for a file that cannot be used."""
        if config.policy_file is None:
            if config.policy_audit is not None:
                raise ConfigError("policy.audit is set without policy.file: name a policy, or unset it")
            return cls(None, runtime, registry)
        policy = read_policy(config.policy_file, kept(RUN_POLICY))
        amounts = _amounts_of(config, policy, runtime)
        if config.policy_audit is None:
            return cls(policy, runtime, registry, None, amounts)
        audit = AuditLog(config.policy_audit)
        try:
            audit.check()
        except AuditError as error:
            raise ConfigError(f"policy.audit: {audit.path}: {error}") from None
        return cls(policy, runtime, registry, audit, amounts)

    async def admit(self, action: models.Action) -> models.Action:
        """Returns a finished action with the digest of the policy that allows it.

        Raises ``PolicyRefused`` with everything that the policy does not allow; ``ProviderUnavailable``
        (``policy_undecided``) when a screening plugin gave no verdict, the store of amounts cannot be used,
        or the decision that allows the action cannot be written to the audit log.
        """
        if self.policy is None:
            return action
        facts = facts_of(action, self._name_of, self._levels(action), self._quorums())
        violations, is_decided = decide(self.policy, facts), True
        if not violations:
            screening = Screening(self.registry)
            violations, is_decided = await screening.violations(self.policy, action.action_id, facts)
        if not violations:
            violations, is_decided = await self._over_time(self.policy, action, facts)
        if self.audit is not None:
            record = self._record(action, facts, violations)
            try:
                await asyncio.to_thread(self.audit.add, record)
            except AuditError as error:
                log.error("the audit log %s: %s", self.audit.path, error)
                # That is no fault of the caller: without it the policy allows the action.
                is_decided = is_decided and bool(violations)
                violations = (*violations, _NOT_WRITTEN)
        if violations:
            rules = ", ".join(dict.fromkeys(each.rule for each in violations))
            log.warning(
                "action %s of %s is refused by the policy: %s", action.action_id, action.sender, rules
            )
            raise refusal(violations) if is_decided else _undecided(violations)
        return replace(action, policy_digest=self.policy.digest)

    async def tell(
        self,
        commitment: TransactionCommitment,
        found: Mapping[str, object],
        tx_hash: str,
        settled: Settlement,
        *,
        matches: bool,
    ) -> None:
        """Notes a mined transaction that a caller reported, as the chain has it. Raises nothing.

        ``matches`` says whether it is the one that ``commitment`` is about.
        """
        if self.amounts is None:
            return
        await self.amounts.tell(commitment.chain_id, found, tx_hash)
        if matches and settled.status == "confirmed":
            await self.amounts.executed(commitment, tx_hash, settled.block_number)

    async def close(self) -> None:
        """Closes the connections to the store of amounts."""
        if self.amounts is not None:
            await self.amounts.held.close()

    async def _over_time(
        self, policy: Policy, action: models.Action, facts: Facts
    ) -> tuple[tuple[models.Violation, ...], bool]:
        """Holds the amounts of an action. Returns which limits it exceeds, and whether that is known."""
        charges = charges_of(policy, facts)
        if not charges:
            return (), True
        if self.amounts is None:
            return (UNDECIDED,), False
        try:
            return await self.amounts.violations(action, charges), True
        except StoreUnavailable:
            return (UNDECIDED,), False

    def _record(
        self, action: models.Action, facts: Facts, violations: tuple[models.Violation, ...]
    ) -> Mapping[str, object]:
        """Returns the line of a decision. It has no quote token: that would be the action again."""
        return {
            "time": self.runtime.now(),
            "actionId": action.action_id,
            "sender": action.sender,
            "network": facts.network,
            "kind": facts.kind,
            "providers": facts.providers,
            "allowed": not violations,
            "violations": [asdict(each) for each in violations],
            "policy": self.policy and self.policy.digest,
        }

    def _name_of(self, chain_id: int) -> str:
        network = self.runtime.networks.by_chain_id(chain_id)
        return f"eip155:{chain_id}" if network is None else network.slug

    def _levels(self, action: models.Action) -> Mapping[str, int | None]:
        """Returns the levels of the plugins that carry the action out, by provider id."""
        kinds = {(part.capability, part.provider) for part in action.parts}
        return {
            entry.provider.id: entry.plugin.level
            for entry in self.registry.providers
            if entry.enabled and (entry.provider.capability, entry.provider.id) in kinds
        }

    def _quorums(self) -> Mapping[str, int]:
        """Returns how many nodes must agree on a read of the core, by network."""
        upstreams = self.registry.rpc_upstreams
        return {
            network.slug: network.quorum
            if all(cast(RpcUpstream, each).keeps_quorum for each in upstreams(network.chain_id))
            else 1
            for network in self.runtime.networks
        }


def refusal(violations: tuple[models.Violation, ...]) -> PolicyRefused:
    """Returns the error that tells a client everything that the policy does not allow."""
    told = "; ".join(each.message for each in violations)
    return PolicyRefused(
        f"The custody policy does not allow this action: {told}. Ask for another action, or the operator for "
        "another policy.",
        reason=Reason.POLICY_REFUSED,
        violations=violations,
    )


def _undecided(violations: tuple[models.Violation, ...]) -> ProviderUnavailable:
    """Returns the error of an action that could not be decided: nothing is handed out."""
    told = "; ".join(each.message for each in violations)
    return ProviderUnavailable(
        f"The custody policy cannot decide this action now: {told}. Ask again, or tell the operator.",
        reason=Reason.POLICY_UNDECIDED,
        violations=violations,
        retryable=True,
    )


def _amounts_of(config: Config, policy: Policy, runtime: Runtime) -> AmountsPerTime | None:
    """Returns what the amounts per time of a policy need. Raises ``ConfigError`` without a shared store."""
    if not policy.limits:
        return None
    store = config.policy.store
    if store is None:
        raise ConfigError(
            f"policy.store is not set, and {config.policy_file} has amounts_per_time, which all workers and "
            "replicas must count in one place: name a Valkey or Redis server"
        )
    longest_s = max(limit.window_s for limit in policy.limits)
    url = store.reveal() if isinstance(store, Secret) else store
    return AmountsPerTime(HeldAmounts(url, config.quotes.issuer, longest_s), runtime, longest_s)
