"""Writes the report of a plugin as JSON."""

from __future__ import annotations

from typing import Any

import orjson

from quoteway.testing.levels.check import LEVELS
from quoteway.testing.levels.running import Report, Result


def json_of(report: Report) -> str:
    """Returns the report as JSON: level, seconds by level, findings, and every check with its result."""
    content = {
        "plugin": report.plugin,
        "distribution": report.distribution,
        "version": report.version,
        "level": report.level,
        "meaning": None if report.level is None else LEVELS[report.level],
        "executions": report.executions,
        "seconds": {str(number): round(took_s, 3) for number, took_s in report.level_s.items()},
        "findings": [
            {
                "check": finding.check,
                "level": finding.level,
                "provider": finding.provider,
                "capability": finding.capability,
                "text": finding.text,
                "remedy": finding.remedy,
            }
            for finding in report.findings
        ],
        "checks": [_row(result) for result in report.results],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n"


def outcome_of(result: Result) -> str:
    """Returns ``ok``, ``failed`` or ``not applicable``."""
    if result.finding is not None:
        return "failed"
    return "ok" if result.not_applicable is None else "not applicable"


def _row(result: Result) -> dict[str, Any]:
    return {
        "check": result.check,
        "level": result.level,
        "provider": result.provider,
        "capability": result.capability,
        "outcome": outcome_of(result),
        "notApplicable": result.not_applicable,
        "seconds": round(result.took_s, 3),
    }
