"""Deploys a managed vault at a predicted address (EIP-1014)."""

from __future__ import annotations

import asyncio
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    Block,
    Build,
    Chain,
    DeploymentTerms,
    DeployRequest,
    Quote,
    Reason,
    RpcError,
    SealedQuote,
    Step,
    UpstreamError,
)
from quoteway.evm.address import address_bytes, create2_address, keccak256
from quoteway.evm.reverts import revert_data, revert_reason
from quoteway_erc4626.facts import VaultBook
from quoteway_erc4626.orders import refused

from quoteway_managedvault.contracts import DEPLOY, INIT_CODE_HASH, UNAUDITED
from quoteway_managedvault.deployments import Deployment

_MAX_SALTS = 16


async def quote_deployment(
    chain: Chain, block: Block, deployment: Deployment, book: VaultBook, request: DeployRequest
) -> Quote:
    """Quotes a deployment. The salt is derived from the request: the same request gives the same address
    until a vault exists there, and then the next one.

    Raises ``InvalidRequest`` for a strategy that is not offered or has another asset.
    """
    strategy = deployment.strategy(request.strategy)
    if strategy is None:
        offered = ", ".join(deployment.strategies) or "none"
        raise refused("strategy", Reason.OUT_OF_RANGE, f"must be one of: {offered}")
    facts = await book.find(request.chain_id, strategy)
    if facts is None:
        raise refused("strategy", Reason.CONFLICT, f"there is no contract at {strategy}")
    if facts.asset.address != request.asset:
        raise refused(
            "asset",
            Reason.UNSUPPORTED_TOKEN,
            f"must be the strategy's asset {facts.asset.address} ({facts.asset.symbol})",
        )
    arguments = [request.asset, request.owner, request.bot or NATIVE, strategy]
    answer = await chain.call(deployment.factory, INIT_CODE_HASH.encode(arguments), block=block)
    (init_code_hash,) = INIT_CODE_HASH.decode_output(answer)
    salt = await _free_salt(chain, block, deployment.factory, init_code_hash)
    predicted = create2_address(deployment.factory, salt, init_code_hash)
    await _simulate(chain, block, deployment.factory, request.owner, [*arguments, salt], predicted)
    plan = {
        "factory": deployment.factory,
        "strategy": strategy,
        "salt": "0x" + salt.hex(),
        "hash": "0x" + init_code_hash.hex(),
    }
    return Quote(
        inputs=(),
        outputs=(),
        block=block,
        plan=plan,
        warnings=(UNAUDITED,),
        terms=_terms(plan, request),
    )


async def build_deployment(sealed: SealedQuote, request: DeployRequest) -> Build:
    """Returns the factory's ``deploy`` call with the quote's salt."""
    plan = sealed.plan
    args: list[Any] = [request.asset, request.owner, request.bot or NATIVE, plan["strategy"], plan["salt"]]
    terms = _terms(plan, request)
    step = Step(plan["factory"], DEPLOY.encode(args), 0, request.chain_id)
    return Build(steps=(step,), spends=(), inputs=(), outputs=(), warnings=(UNAUDITED,), terms=terms)


def _terms(plan: Any, request: DeployRequest) -> DeploymentTerms:
    salt, init_code_hash = (bytes.fromhex(plan[member][2:]) for member in ("salt", "hash"))
    return DeploymentTerms(
        factory=plan["factory"],
        predicted_address=create2_address(plan["factory"], salt, init_code_hash),
        salt=plan["salt"],
        init_code_hash=plan["hash"],
        asset=request.asset,
        owner=request.owner,
        strategy=plan["strategy"],
        bot=request.bot,
    )


async def _free_salt(chain: Chain, block: Block, factory: Address, init_code_hash: bytes) -> bytes:
    """Returns the first salt whose address has no code. The init code hash contains all other arguments."""
    salts = [keccak256(init_code_hash + number.to_bytes(32)) for number in range(_MAX_SALTS)]
    codes = await asyncio.gather(
        *(chain.code(create2_address(factory, salt, init_code_hash), block=block) for salt in salts)
    )
    for salt, code in zip(salts, codes, strict=True):
        if not code:
            return salt
    raise refused(
        "owner", Reason.CONFLICT, f"has {_MAX_SALTS} equal vaults already: change owner, bot or strategy"
    )


async def _simulate(
    chain: Chain, block: Block, factory: Address, owner: Address, args: list[Any], predicted: Address
) -> None:
    """Simulates the deployment: the factory must return the predicted address."""
    try:
        answer = await chain.call(factory, DEPLOY.encode(args), block=block, sender=owner)
    except RpcError as error:
        why = revert_reason(revert_data(error) or b"")
        raise UpstreamError(
            f"The factory would not deploy this vault: {why}.", reason=Reason.REVERTED
        ) from None
    if answer[-20:] != address_bytes(predicted):
        raise UpstreamError(
            "The factory would deploy at another address than predicted.", reason=Reason.UNSAFE_ANSWER
        )
