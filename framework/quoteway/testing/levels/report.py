"""Writes the report of a plugin as JSON, as an HTML page and as a badge."""

from __future__ import annotations

from html import escape
from typing import Any

import orjson

from quoteway.testing.levels.check import LEVELS
from quoteway.testing.levels.running import Report, Result

_COLOURS = ("#9a6700", "#9a6700", "#1a7f37", "#1a7f37")
"""Of badges, by level. White text on each has a contrast of at least 4.5 (WCAG 2.1, 1.4.3)."""
_STYLE = (
    "body{font:16px/1.5 sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2rem .5rem;text-align:left}"
)


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


def html_of(report: Report) -> str:
    """Returns the report as one HTML page without scripts. All texts of the plugin are escaped."""
    title = f"{report.plugin} {report.version}: {_reached(report)}"
    levels = "".join(
        f"<tr><td>{number}</td><td>{escape(LEVELS[number])}</td><td>{took_s:.1f} s</td></tr>"
        for number, took_s in report.level_s.items()
    )
    findings = "".join(
        f"<li><b>{escape(found.check)}</b> ({escape(f'{found.capability} {found.provider}'.strip())}): "
        f"{escape(found.text)}<br>{escape(found.remedy)}</li>"
        for found in report.findings
    )
    checks = "".join(
        f"<tr><td>{result.level}</td><td>{escape(result.check)}</td><td>{escape(result.capability)}</td>"
        f"<td>{escape(result.provider)}</td><td>{outcome_of(result)}</td>"
        f"<td>{escape(result.not_applicable or '')}</td><td>{result.took_s:.1f} s</td></tr>"
        for result in report.results
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<table><tr><th>Level</th><th>Meaning</th><th>Time</th></tr>{levels}</table>"
        f"<h2>Findings</h2>{f'<ul>{findings}</ul>' if findings else '<p>None.</p>'}"
        "<h2>Checks</h2><table><tr><th>Level</th><th>Check</th><th>Capability</th><th>Provider</th>"
        f"<th>Outcome</th><th>Why</th><th>Time</th></tr>{checks}</table></body></html>\n"
    )


def badge_of(report: Report) -> str:
    """Returns the level as an SVG image of 132 by 20 pixels."""
    colour = "#b60205" if report.level is None else _COLOURS[report.level]
    text = escape(_reached(report))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="132" height="20" role="img" '
        f'aria-label="Quoteway: {text}"><title>Quoteway: {text}</title>'
        f'<rect width="68" height="20" fill="#444"/><rect x="68" width="64" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="34" y="14">Quoteway</text><text x="100" y="14">{text}</text></g></svg>\n'
    )


def _reached(report: Report) -> str:
    return "no level" if report.level is None else f"level {report.level}"


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
