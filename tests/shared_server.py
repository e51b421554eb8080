"""A Valkey or Redis server of a test's own."""

import asyncio
import contextlib
import shutil


async def server_at(port, folder):
    """A Valkey or Redis server that answers."""
    server = shutil.which("valkey-server") or shutil.which("redis-server")
    assert server is not None, "install redis-server (Debian) or valkey-server"
    process = await asyncio.create_subprocess_exec(
        server, "--port", str(port), "--dir", str(folder), "--save", "", stdout=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return process
            await asyncio.sleep(0.05)
