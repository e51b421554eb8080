"""A Valkey or Redis server of a test's own: by TLS, as a cluster, or behind a proxy that is slow."""

import asyncio
import contextlib
import shutil
import subprocess

TLS_OPTIONS = ("--tls-auth-clients", "yes", "--user", "quoteway", "on", ">secret", "~*", "&*", "+@all")


def _server():
    server = shutil.which("valkey-server") or shutil.which("redis-server")
    assert server is not None, "install redis-server (Debian) or valkey-server"
    return server


async def server_at(port, folder, *options):
    """A Valkey or Redis server that answers. ``options`` may set the port itself."""
    own = ("--port", str(port)) if "--port" not in options else ()
    process = await asyncio.create_subprocess_exec(
        _server(), *own, "--dir", str(folder), "--save", "", *options, stdout=asyncio.subprocess.DEVNULL
    )
    await _answers(port)
    return process


async def _answers(port):
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.05)


async def tls_server_at(port, folder, files):
    """A server that speaks TLS alone and wants certificates of its clients, a user and a password."""
    return await server_at(port, folder, *_tls(port, files), *TLS_OPTIONS)


def _tls(port, files):
    certificates = ("--tls-cert-file", files["server.pem"], "--tls-key-file", files["server.key"])
    return (*certificates, "--tls-ca-cert-file", files["ca.pem"], "--tls-port", str(port), "--port", "0")


def certificates(folder, server="DNS:localhost"):
    """Files of an authority, of a server of this name, of a client, and of another authority."""
    files = {}

    def make(name, subject, *, issuer=None, more=()):
        pem, key = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
        signed = () if issuer is None else ("-CA", files[f"{issuer}.pem"], "-CAkey", files[f"{issuer}.key"])
        command = (
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        )
        names = ("-subj", f"/CN={subject}", "-days", "2", "-out", pem, "-keyout", key)
        subprocess.run([*command, *names, *signed, *more], check=True, capture_output=True)
        files[f"{name}.pem"], files[f"{name}.key"] = pem, key

    of_authority = ("-addext", "keyUsage=critical,keyCertSign")
    make("ca", "authority", more=of_authority)
    make("other", "another authority", more=of_authority)
    leaf = ("-addext", "basicConstraints=critical,CA:FALSE")
    make("server", "server", issuer="ca", more=(*leaf, "-addext", f"subjectAltName={server}"))
    make("client", "client", issuer="ca", more=leaf)
    return files


async def cluster_at(ports, folder, files=None):
    """The servers of a cluster of which each has a part of the keys.

    With ``files`` of certificates they speak TLS alone.
    """
    servers = []
    by_tls = ("--tls-cluster", "yes", *TLS_OPTIONS)
    of_tool = ("--tls", "--cacert", files["ca.pem"], "--cert", files["client.pem"]) if files else ()
    of_tool = (*of_tool, "--key", files["client.key"]) if files else ()
    for port in ports:
        place = folder / str(port)
        place.mkdir(exist_ok=True)
        # Its bus has a port of its own: the usual one, 10,000 above, may not exist.
        bus = str(port - 20_000 if port > 40_000 else port + 20_000)
        options = ("--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000")
        options = (*options, *_tls(port, files), *by_tls) if files else options
        servers.append(await server_at(port, place, *options))
    tool = shutil.which("valkey-cli") or shutil.which("redis-cli")
    assert tool is not None, "install redis-tools (Debian) or valkey-cli"
    places = [f"127.0.0.1:{port}" for port in ports]
    created = await asyncio.create_subprocess_exec(
        tool, *of_tool, "--cluster", "create", *places, "--cluster-yes", stdout=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(120):
        assert await created.wait() == 0
        for port in ports:
            while True:
                asked = await asyncio.create_subprocess_exec(
                    tool, *of_tool, "-p", str(port), "cluster", "info", stdout=asyncio.subprocess.PIPE
                )
                if b"cluster_state:ok" in (await asked.communicate())[0]:
                    break
                await asyncio.sleep(0.1)
    return servers


class SlowProxy:
    """Passes bytes to a server on this machine and its answers back, ``delay_s`` late; None: never."""

    def __init__(self, port):
        self._port = port
        self.delay_s = 0.0
        self.url = ""

    async def __aenter__(self):
        self._writers = set()
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _connection(self, reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, back}
        answers = asyncio.create_task(self._late(there, writer))
        try:
            await self._passed(reader, back)
        finally:
            answers.cancel()
            for each in (writer, back):
                each.close()
                self._writers.discard(each)

    async def _passed(self, reader, writer):
        with contextlib.suppress(OSError):
            while some := await reader.read(1 << 16):
                writer.write(some)
                await writer.drain()

    async def _late(self, reader, writer):
        with contextlib.suppress(OSError):
            while some := await reader.read(1 << 16):
                while self.delay_s is None:
                    await asyncio.sleep(0.05)
                await asyncio.sleep(self.delay_s)
                writer.write(some)
                await writer.drain()
