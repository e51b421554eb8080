"""The newest block of each network: at ``/x/chain-heads/``, and by the command ``quoteway heads``."""

import click
import quoteway
from aiohttp import web


async def heads_of(context):
    """Returns the block number by network; None where no node answers."""
    found = {}
    for network in context.networks:
        try:
            found[network.slug] = (await context.chain(network).head()).number
        except quoteway.GatewayError:
            found[network.slug] = None
    return found


@quoteway.hookimpl
def quoteway_routes(context):
    async def show(request):
        return web.json_response(await heads_of(context))

    return [web.get("/", show)]


@click.command("heads")
def heads():
    """Print the newest block of each network."""

    async def work(context):
        for slug, number in (await heads_of(context)).items():
            click.echo(f"{slug} {'unreachable' if number is None else number}")

    click.get_current_context().obj.run("chain-heads", work)


@quoteway.hookimpl
def quoteway_commands():
    return [heads]
