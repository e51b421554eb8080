"""The commands that set up and examine a deployment: ``quoteway config``, ``config init`` and ``doctor``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from quoteway.server.options import CONFIG_OPTION, configured, quiet


@click.group("config", invoke_without_command=True)
@CONFIG_OPTION
@click.pass_context
def config(ctx: click.Context, config_path: Path | None) -> None:
    """The configuration in force, secrets hidden."""
    if ctx.invoked_subcommand is not None:
        return
    import orjson

    from quoteway.config.loading import redacted

    click.echo(
        orjson.dumps(redacted(configured(config_path)), option=orjson.OPT_INDENT_2, default=str).decode()
    )


@config.command("init")
@click.option(
    "--networks", required=True, help="Networks to serve, with commas between: ethereum,base,arbitrum."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("quoteway.toml"),
    show_default=True,
    help="File to write. Its signing key is written beside it.",
)
@quiet()
def init(networks: str, output: Path) -> None:
    """Write the configuration of a new deployment, with a new signing key.

    The endpoints of the networks are read from the environment: what it prints says from which variables.
    """
    from quoteway.server.config_file import rpc_variable, write_config

    slugs = [slug for each in networks.split(",") if (slug := each.strip())]
    key = write_config(output, slugs)
    lines = [
        f"Wrote {output}, and a new signing key to {key}: keep it secret, and give it to every replica.",
        "",
        "Next:",
        *(f"  export {rpc_variable(slug)}=https://..." for slug in dict.fromkeys(slugs)),
        f"  quoteway doctor --config {output}",
        f"  quoteway serve --config {output}",
    ]
    click.echo("\n".join(lines))


@click.command()
@CONFIG_OPTION
@click.option("--url", help="A running server to ask too, with the first of [auth] keys.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@quiet()
def doctor(config_path: Path | None, url: str | None, as_json: bool) -> None:
    """Check what a deployment needs.

    Exit 0: everything is in order. 1: it works, with warnings. 2: something does not work.
    """
    import asyncio

    import orjson

    from quoteway.server.doctor import examine
    from quoteway.server.findings import SEVERITIES, worst

    findings = asyncio.run(examine(config_path, url))
    if as_json:
        content = {"worst": worst(findings), "findings": findings}
        click.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())
    else:
        for finding in findings:
            click.echo(f"{finding.mark:<5} {finding.subject}: {finding.text}")
    sys.exit(SEVERITIES.index(worst(findings)))
