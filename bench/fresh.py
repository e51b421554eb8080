"""Rounds of "own transaction, receipt, quote, action, execute" without a pause, against a served gateway."""

from __future__ import annotations

import argparse
import functools

from bench.harness import harness
from bench.report import Report, counts, milliseconds
from bench.server import gateway


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    report.say(f"{options.rounds} rounds, seed {options.seed}: first one after another, then in parallel")
    rounds, half = harness("fresh_rounds"), options.rounds // 2
    async with Devnet.start() as devnet:
        own_url = devnet.urls["devnet"]
        steady = rounds.SteadyNode(own_url)
        market = functools.partial(
            rounds.market, devnet=devnet, steady=steady, seed=options.seed, say=report.say
        )
        async with gateway(devnet.ports, own_url) as url, market(url) as wallets:
            alone = await wallets.one_after_another(options.rounds - half)
        async with (
            steady.running() as node_url,
            gateway(devnet.ports, node_url) as url,
            market(url) as wallets,
        ):
            together = await wallets.in_parallel(half)
    for how, done in (("one after another", alone), ("in parallel", together)):
        report.baseline(f"rounds {how}", f"{done.rounds} in {done.seconds:.0f} s")
        report.baseline(f"{how}: own transactions", counts(sorted(done.own.items())))
        report.baseline(f"{how}: paths taken", counts(done.paths.most_common(8)))
        for what, took in (("quote", done.quote_s), ("action", done.action_s)):
            p50, p99 = milliseconds(took)
            report.baseline(f"{how}: {what} of a new block, p50 and p99", f"{p50:.1f} ms, {p99:.1f} ms")
        report.refusals(f"{how}: refused", done.refused)
        report.none(f"{how}: answers older than a receipt", done.stale, "answers")
        for line in done.faults[:10]:
            report.say(line)
    report.none("one after another: not received = simulated = quoted, to the wei", alone.wrong, "rounds")
    report.none("one after another: reverted", alone.reverted, "rounds")
    report.none("in parallel: received less than the minimum, or refused", together.wrong, "rounds")
    report.none("in parallel: reverted from stale state", together.reverted, "rounds")
    report.baseline("in parallel: reverted as others moved the price", str(together.moved))
