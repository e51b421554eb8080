"""A gateway with webhooks in a process of its own, which a test kills: ``python webhook_process.py ...``.

The state of every transfer is that in a file, which the test writes.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path

from aiohttp import web
from followed_transfers import CONFIRMED, FILLED, PENDING, TransferPlace, sealed_id
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig, SigningKey
from quoteway.engine.gateway import Gateway
from quoteway.secrets import Secret
from quoteway.server.serve import make_runner
from quoteway.testing.fakes import pinned
from quoteway.web.app import make_app
from webhook_room import with_webhooks

STATES = {"pending": PENDING, "confirmed": CONFIRMED, "filled": FILLED}
RING = QuotesConfig(keys=(SigningKey("k1", Secret("4f1c9a07e2d85b36c0a7914ed3f8625b8be0d3f7a61c5429")),))


async def serve(state_file, store, receiver_port):
    place = TransferPlace()
    base = Config(server=ServerConfig(port=0), limits=LimitsConfig(enabled=False), embedded=False)
    config = with_webhooks(base, receiver_port, store, RING, first_retry_s=0.2)
    plugins = place.plugins()

    async def track(chain_id, transaction_hash):
        return STATES[state_file.read_text()]

    place.bridge.track = track
    config = pinned(config, plugins)
    gateway = Gateway(config, plugins=plugins, discover=False, clock=place.clock)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await gateway.started()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    said = {"port": runner.addresses[0][1], "txId": sealed_id(gateway)}
    print(json.dumps(said), flush=True)
    await ended.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
