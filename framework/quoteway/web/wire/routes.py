"""The route of a swap, and how near it is to the best one."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import parts
from quoteway.web.wire.text import AddressText, AmountText, DigestText, IntegerTable
from quoteway.web.wire.view import ABSENT, View, optional, required


class Route(View):
    """The route as paths, whose amounts sum to those of its legs, and as legs, in the order of execution."""

    paths = required(
        [parts.RoutePath], "route", description="Paths through pools; their amounts sum to those of `legs`"
    )
    legs = optional(
        [parts.RouteLeg],
        lambda quote: ABSENT if quote.route_legs is None else quote.route_legs,
        description="Pools of the route, each once, in the order of execution. Left out where the "
        "provider does not state them",
    )


class CertifiedPool(View):
    """A pool whose state the bound counts."""

    pool = required(fields.String, description="Address of the pool, or its 32-byte id")
    protocol = required(fields.String, description="Protocol of the pool, such as `uniswap-v3`")
    tokens = required([AddressText], description="Tokens of the pool")
    parameters = required(
        [fields.Integer],
        description="Integers by which the provider finds the pool and reads the same part of its state "
        "again",
    )
    digest = required(DigestText, description="keccak-256 of that state in the provider's encoding")


class Certificate(View):
    """What proves the bound. `quoteway verify-quote` checks it against the chain."""

    prices = required(
        IntegerTable,
        description="Price of a base unit of each token, by address. All are integers at one common "
        "scale; that of the wrapped native coin is the native coin's too",
    )
    pools = required([CertifiedPool], description="Pools whose states the bound depends on, at most 1,000")


class Optimality(View):
    """How near the route is to the best one through the same pools at the quote's block, gas aside."""

    bound = required(
        AmountText,
        description="Upper bound of the output, in base units of `toToken`: no trade of the input through "
        "these pools pays more, gas aside. With `exactOut` lower bound of the input, in base "
        "units of `fromToken`",
    )
    gap_bps = required(
        fields.Float,
        description="Most that the quoted output can be below `bound`, in basis points of it. With "
        "`exactOut` most that the quoted input can be above `bound`, in basis points of the "
        "input",
    )
    net_gap_bps = required(
        fields.Float, description="As `gapBps`, in basis points, with the cost of gas taken into account"
    )
    arbitrage = required(
        AmountText,
        description="Most that these pools pay for arbitrage alone, without any input; `bound` contains "
        "it. In base units of `toToken`, with `exactOut` of `fromToken`",
    )
    pools = required(fields.Integer, description="Number of pools that were searched")
    families = required([fields.String], description="Protocols of the pools that were searched")
    block = required(parts.BlockRef, description="Block at which the pools were read")
    method = required(
        fields.String,
        enum=["single_path", "split"],
        description="How the route was found: `single_path` as one path, `split` with the amount divided",
    )
    certificate = optional(
        Certificate,
        lambda found: ABSENT if found.certificate is None else found.certificate,
        description="Proof of `bound`; only where the request asks for `certificate`",
    )
