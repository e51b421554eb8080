"""What ``quoteway verify-quote`` does: reads a saved answer and has its provider check the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from quoteway import models
from quoteway.config.bounded_file import UnreadableFile
from quoteway.config.model import Config
from quoteway.errors import ConfigError, GatewayError
from quoteway.evm.address import parse_address
from quoteway.guard.findings import check_form
from quoteway.providers import SwapProvider
from quoteway.server.doctor import loaded
from quoteway.server.json_file import read_json
from quoteway.server.one_node import ANSWER_S, open_chain

MAX_FILE_BYTES = 4 * 1024 * 1024

_Amount = Annotated[str, msgspec.Meta(pattern=r"^(0|[1-9][0-9]{0,77})$")]
_Share = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
_Whole = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]


class CannotVerify(Exception):  # noqa: N818 - says why
    """There is nothing to check, or nothing to check it with."""


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """An object of an answer. Members that are not declared are ignored."""


class _Block(_Wire, frozen=True):
    number: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
    hash: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-f]{64}$")]
    timestamp: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class _Token(_Wire, frozen=True):
    address: str


class _Leg(_Wire, frozen=True):
    provider: str
    protocol: str
    pool: str
    token_in: str
    token_out: str
    amount_in: _Amount
    amount_out: _Amount
    share_bps: _Share


class _Route(_Wire, frozen=True):
    legs: Annotated[list[_Leg], msgspec.Meta(max_length=256)]


class _Pool(_Wire, frozen=True):
    protocol: str
    pool: str
    tokens: Annotated[list[str], msgspec.Meta(max_length=64)]
    parameters: Annotated[list[_Whole], msgspec.Meta(max_length=64)]
    digest: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-f]{64}$")]


class _Certificate(_Wire, frozen=True):
    prices: dict[str, _Amount]
    pools: Annotated[list[_Pool], msgspec.Meta(max_length=1_000)]


class _Optimality(_Wire, frozen=True):
    bound: _Amount
    gap_bps: float
    net_gap_bps: float
    arbitrage: _Amount
    pools: _Whole
    families: list[str]
    block: _Block
    method: Literal["single_path", "split"]
    certificate: _Certificate | None = None


class _Fee(_Wire, frozen=True):
    kind: str
    bps: Annotated[float, msgspec.Meta(ge=0, le=10_000)] | None = None


class _Quote(_Wire, frozen=True):
    provider: str
    chain_id: _Whole
    from_token: _Token
    to_token: _Token
    from_amount: _Amount
    to_amount: _Amount
    block: _Block
    route: _Route | None
    optimality: _Optimality | None
    fees: Annotated[list[_Fee], msgspec.Meta(max_length=256)] = []
    side: Literal["exactIn", "exactOut"] = "exactIn"
    to_amount_min: _Amount | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """The results of the checks, in their order, of a quote of ``provider``."""

    provider: str
    checks: Sequence[models.CertificateCheck]
    exact_out: bool = False

    @property
    def claim(self) -> str:
        """What is proven when everything holds."""
        if self.exact_out:
            return "no trade through these pools buys as much for less than the bound"
        return "no trade through these pools pays more than the bound"

    @property
    def holds(self) -> bool:
        return bool(self.checks) and all(check.holds for check in self.checks)


def read_answer(path: Path) -> tuple[str, models.CertifiedSwap]:
    """Returns the provider and the swap of a saved answer of ``POST /v2/swaps/quote``.

    Raises ``CannotVerify`` for a file that is none, or an answer without a certificate.
    """
    try:
        saved = read_json(path, max_bytes=MAX_FILE_BYTES, wanted="one answer to a swap quote")
        quote = msgspec.convert(saved, _Quote)
        return quote.provider, _swap_of(quote)
    except UnreadableFile as error:
        raise CannotVerify(str(error)) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise CannotVerify(f"{path} is no answer of POST /v2/swaps/quote: {error}") from None


def _swap_of(quote: _Quote) -> models.CertifiedSwap:
    """Raises ``ValueError`` for an address that is none, ``CannotVerify`` without a certificate."""
    told = quote.optimality
    if told is None or told.certificate is None:
        raise CannotVerify('the answer has no certificate: request the quote with "certificate": "full"')
    pools = tuple(
        models.CertifiedPool(
            pool.protocol,
            pool.pool,
            tuple(map(parse_address, pool.tokens)),
            tuple(pool.parameters),
            pool.digest,
        )
        for pool in told.certificate.pools
    )
    prices = {parse_address(token): int(price) for token, price in told.certificate.prices.items()}
    optimality = models.Optimality(
        int(told.bound),
        told.gap_bps,
        told.net_gap_bps,
        int(told.arbitrage),
        told.pools,
        tuple(told.families),
        _block_of(told.block),
        told.method,
        models.Certificate(prices, pools),
    )
    return models.CertifiedSwap(
        quote.chain_id,
        parse_address(quote.from_token.address),
        parse_address(quote.to_token.address),
        int(quote.from_amount),
        int(quote.to_amount),
        _block_of(quote.block),
        tuple(_leg_of(leg) for leg in (() if quote.route is None else quote.route.legs)),
        optimality,
        sum(int(fee.bps or 0) for fee in quote.fees if fee.kind == "integrator"),
        # The minimum of an exact output is the amount asked for.
        None if quote.side == "exactIn" else int(quote.to_amount_min or quote.to_amount),
    )


def _block_of(block: _Block) -> models.Block:
    return models.Block(block.number, block.hash, block.timestamp)


def _leg_of(leg: _Leg) -> models.RouteLeg:
    return models.RouteLeg(
        leg.provider,
        leg.protocol,
        leg.pool,
        parse_address(leg.token_in),
        parse_address(leg.token_out),
        int(leg.amount_in),
        int(leg.amount_out),
        share_bps=leg.share_bps,
    )


async def verify(config: Config, path: Path, rpc_url: str | None = None) -> Verified:
    """Checks a saved answer against the chain at its block, through ``rpc_url`` or the configured endpoint.

    Raises ``CannotVerify`` when that is not possible.
    """
    provider_id, swap = read_answer(path)
    # Nothing is served here: a plugin that is isolated in a server checks in this process.
    alone = replace(
        config,
        plugins=replace(config.plugins, isolate=()),
        quotes=replace(config.quotes, competition_timeout_s=2 * ANSWER_S),  # a source has half of it
    )
    gateway = loaded(alone)
    gateway.enable()  # the pools of an executor are asked of the sources of all plugins
    provider = next(
        (
            entry.provider
            for entry in gateway.registry.providers
            if isinstance(entry.provider, SwapProvider) and entry.provider.id == provider_id
        ),
        None,
    )
    if provider is None:
        raise CannotVerify(
            f"no loaded plugin has the swap provider {provider_id!r}: "
            "install it, and name it in [plugins] load"
        )
    network = gateway.runtime.networks.by_chain_id(swap.chain_id)
    if network is None:
        raise CannotVerify(f"chain {swap.chain_id} is unknown: describe it in [networks.<name>]")
    try:
        async with open_chain(network, rpc_url) as chain:
            gateway.runtime.chains[network.chain_id] = chain
            checks = await provider.verify(swap)
            check_form(provider, checks, tuple[models.CertificateCheck, ...])
            return Verified(provider_id, tuple(checks), swap.bought is not None)
    except GatewayError as error:
        raise CannotVerify(error.message) from None
    except ConfigError as error:
        raise CannotVerify(str(error)) from None
