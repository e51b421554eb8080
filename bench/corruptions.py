"""Changed quotes and builds of every provider: what the core accepts must do what it says.

100,000 cases take a quarter of an hour on one idle core; two thirds of them are well-formed.
"""

from __future__ import annotations

import argparse

from rich.progress import Progress

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    total, harnesses = (
        options.cases,
        [harness(f"corrupting.{name}") for name in ("chains", "material", "cases")],
    )
    chains, material, cases = harnesses
    async with Devnet.start() as devnet, chains.running(devnet) as world:
        report.say("asking for honest quotes and builds of every provider")
        run = cases.Cases(world, await material.gather(world), options.seed)
        with Progress(console=report.console) as progress:
            task = progress.add_task(f"{total} cases, seed {options.seed}", total=total)
            done = await run.run(total, lambda count: progress.update(task, completed=count))
    rate = done.cases / done.seconds
    report.baseline("changed quotes and builds", f"{done.cases} in {done.seconds:.0f} s, {rate:.0f} a second")
    report.baseline("honest answers that were changed", str(len(run.material)))
    report.baseline("by provider", counts(sorted(done.providers.items())))
    report.at_least("well-formed ones", 100 * done.well_formed / done.cases, 50, "%", digits=1)
    report.baseline("refused", f"{done.refused.total()}: {counts(done.refused.most_common())}")
    report.baseline("accepted and harmless", str(done.harmless.total()))
    report.baseline("accepted, with more expected than comes", counts(done.overstated.most_common(8)))
    report.none("accepted, and the chain does worse than the action says", done.harmful, "cases")
    report.none("answers at which the core raised", done.crashed, "cases")
    kept = 100 * (1 - len(done.refused_controls) / done.controls)
    report.at_least(f"of {done.controls} honest answers, those accepted", kept, 100, "%", digits=1)
    for line in [*done.harmful[:10], *done.crashed[:5], *done.refused_controls[:5]]:
        report.say(line)
