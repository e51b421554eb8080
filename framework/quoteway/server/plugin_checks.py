"""What ``quoteway doctor`` asks for plugins: the databases and stores that they name themselves."""

from __future__ import annotations

import asyncio
from typing import Final

from quoteway.errors import ConfigError, UpstreamError
from quoteway.guard.model_types import flaw
from quoteway.host.plugins import Plugins
from quoteway.host.states import PLUGIN_ERRORS, NotEnabled
from quoteway.models import DoctorCheck
from quoteway.server.findings import Finding

CHECK_S: Final = 10.0


async def checks(plugins: Plugins) -> list[Finding]:
    """Asks what ``quoteway_doctor_checks`` of each plugin returns. Other answers refuse their plugin."""
    findings = []
    for entry, answer in plugins.ask("quoteway_doctor_checks"):
        found = tuple(answer)
        wrong = flaw(found, tuple[DoctorCheck, ...])
        if wrong is not None:
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_doctor_checks{wrong}")
            continue
        findings += [asked(f"plugin.{entry.name}.{check.setting}", check) for check in found]
    return list(await asyncio.gather(*findings))


async def asked(subject: str, check: DoctorCheck) -> Finding:
    """Returns what a check found. Whatever it does is a finding."""
    try:
        async with asyncio.timeout(CHECK_S):
            text = await check.ask()
    except TimeoutError:
        wrong = f"no answer in {CHECK_S:g} s"
    except (ConfigError, UpstreamError) as error:
        wrong = str(error).rstrip(".")
    except PLUGIN_ERRORS as error:  # whose text may have the address
        wrong = f"the check failed ({type(error).__name__})"
    else:
        if isinstance(text, str):
            return Finding("ok", subject, text)
        wrong = f"the check returned {type(text).__name__}, expected a sentence"
    return Finding("fail", subject, f"{wrong}. Until it can be used, {check.otherwise}")
