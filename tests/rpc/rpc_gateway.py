"""A gateway with the rpc plugin alone."""

import contextlib
from types import SimpleNamespace

import quoteway.config.model as configuration
from quoteway.networks import Endpoint


@contextlib.asynccontextmanager
async def serve_rpc(devnet):
    """An app with the rpc plugin alone over the devnet's node, and a session."""
    import quoteway_rpc
    from aiohttp import ClientSession, web
    from quoteway.engine.gateway import Gateway
    from quoteway.server.serve import make_runner
    from quoteway.web.app import make_app

    network = configuration.NetworkConfig(
        chain_id=31337, name="Devnet", native_symbol="ETH", rpc=(Endpoint(devnet.urls["devnet"]),)
    )
    limits = configuration.LimitsConfig(rpc="1000000/minute")
    config = configuration.Config(
        server=configuration.ServerConfig(port=0), limits=limits, networks={"devnet": network}
    )
    gateway = Gateway(config, plugins={"rpc": quoteway_rpc}, discover=False)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        await gateway.started()
        async with ClientSession() as session:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield SimpleNamespace(url=url, session=session, gateway=gateway)
    finally:
        await runner.cleanup()
