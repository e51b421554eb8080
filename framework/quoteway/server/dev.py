"""``quoteway dev``: keeps the devnet running and starts the gateway again after each save.

The gateway runs in a process of its own, so that a plugin is always imported anew and cannot block this one.
This process holds the listening socket: requests during a restart wait for the next gateway.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from quoteway.config.model import Config
from quoteway.errors import ConfigError
from quoteway.host.states import PluginEntry
from quoteway.server.dev_gateway import name_of
from quoteway.server.plugin_install import installed_plugins
from quoteway.server.serve import BACKLOG, STOP_AT_EOF, STOP_SIGNALS, no_socket, unignored

LOOK_MS = 250
"""Time between two looks at the processes while nothing is saved."""
STOP_TIMEOUT_S = 5.0
"""The time that a process gets to stop before it is killed."""
_ASSIGNMENT = re.compile(r"(QUOTEWAY_PLUGIN__DEVNET__\w+)=(\S+)")


def run(config: Config, file: Path | None) -> None:
    """Serves until Ctrl-C, SIGTERM or SIGHUP.

    Raises ``ConfigError`` when the port is taken, a part is not installed, there is nothing to watch, or the
    devnet or the gateway cannot run.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise ConfigError("watchfiles is missing: install it with `pip install 'quoteway[reload]'`") from None
    installed = installed_plugins()
    folders = _watched(installed, file)
    if not any(each.name == "devnet" for each in installed):
        raise ConfigError("the devnet is missing: install it with `quoteway plugins install quoteway-devnet`")
    for name in unignored(STOP_SIGNALS):
        signal.signal(name, signal.default_int_handler)
    try:
        with (
            _listener(config) as listener,
            _devnet() as devnet,
            _running(_Gateway(config, file, listener, devnet)) as gateway,
        ):
            changes = watch(
                *folders,
                watch_filter=lambda change, path: path.endswith(".py") and file in (None, Path(path)),
                recursive=file is None,
                rust_timeout=LOOK_MS,
                yield_on_timeout=True,
            )
            gateway.start()
            _say(f"watching {', '.join(map(str, [file] if file is not None else folders))}")
            for saved in changes:
                if saved:
                    names = sorted({Path(path).name for _, path in saved})
                    _say(f"saved {', '.join(names)}: starting the gateway again")
                    gateway.stop()
                    gateway.start()
                else:
                    gateway.tend()
    except KeyboardInterrupt:
        _say("stopped")


def _watched(installed: list[PluginEntry], file: Path | None) -> list[Path]:
    """Returns the folder of a plugin's file, else those of the packages of editable installations.

    Raises ``ConfigError`` when there are none, or the file has the name of an installed plugin.
    """
    if file is not None:
        owner = next((each for each in installed if each.name == name_of(file)), None)
        if owner is not None:
            raise ConfigError(
                f"{file.name}: {owner.distribution} has a plugin of this name already: rename the file"
            )
        return [file.parent]
    packages = {each.module.partition(".")[0] for each in installed if _is_editable(each)}
    specs = [importlib.util.find_spec(package) for package in sorted(packages)]
    found = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin is not None]
    if not found:
        raise ConfigError(
            "there is nothing to watch: name a file with --plugin, or install a plugin that you write with "
            "`pip install -e`"
        )
    return found


def _is_editable(plugin: PluginEntry) -> bool:
    try:
        origin = json.loads(plugin.installed.read_text("direct_url.json") or "{}")
        return bool(origin["dir_info"]["editable"])
    except (ValueError, KeyError, TypeError, OSError):
        return False


@contextmanager
def _listener(config: Config) -> Iterator[socket.socket]:
    """A socket that listens for the gateways, one after the other. Raises ``ConfigError``."""
    host, port = config.server.host, config.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise no_socket(host, port, error) from None
        listener.listen(BACKLOG)
        yield listener


@contextmanager
def _devnet() -> Iterator[dict[str, str]]:
    """Runs the devnet on free ports, and yields the environment of gateways that use it.

    Raises ``ConfigError`` when it does not start.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_PLUGIN")}
    command = [sys.executable, "-P", "-m", "quoteway", "devnet"]
    command += ["--port", "0", "--l2-port", "0", "--relayer-port", "0"]
    _say("starting the devnet")
    with tempfile.TemporaryDirectory(prefix="quoteway-dev-") as folder:  # without the user's quoteway.toml
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command,
            cwd=folder,
            env={**inherited, STOP_AT_EOF: "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops the others
        )
        try:
            found = _settings_in(process)
            nodes = [found[f"QUOTEWAY_PLUGIN__DEVNET__{name}PORT"] for name in ("", "L2_")]
            _say(f"the devnet runs: {', '.join(f'http://127.0.0.1:{port}' for port in nodes)}")
            yield {**found, "QUOTEWAY_PLUGIN__DEVNET__ENABLED": "true"}
        finally:
            _end(process)


def _settings_in(process: subprocess.Popen[str]) -> dict[str, str]:
    """Reads what ``quoteway devnet`` prints until it is ready, with the settings of a gateway beside it."""
    found: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        found.update(_ASSIGNMENT.findall(line))
        if line.startswith("Ready."):
            return found
    raise ConfigError(f"the devnet ended with status {process.wait()}: its messages are above")


@dataclass(slots=True)
class _Gateway:
    """The process of the gateway. Without the plugin of ``file`` when that has ended the process."""

    config: Config
    file: Path | None
    listener: socket.socket
    devnet: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = None
    _has_plugin: bool = False

    def start(self, *, with_plugin: bool = True) -> None:
        self._has_plugin = with_plugin and self.file is not None
        number = self.listener.fileno()
        command = [sys.executable, "-P", "-m", "quoteway.server.dev_gateway", "--listener", str(number)]
        command += ["--plugin", str(self.file)] if self._has_plugin else []
        command += ["--config", str(self.config.path)] if self.config.path is not None else []
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command,
            env={**os.environ, **self.devnet, STOP_AT_EOF: "1", "QUOTEWAY_SERVER__DRAIN_S": "0"},
            stdin=subprocess.PIPE,
            pass_fds=[number],
            start_new_session=True,
        )

    def stop(self) -> None:
        if self._process is not None:
            _end(self._process)

    def tend(self) -> None:
        """Starts the gateway without the plugin when it has ended.

        Raises ``ConfigError`` when it has ended without the plugin.
        """
        status = None if self._process is None else self._process.poll()
        if status is None:
            return
        self.stop()
        if not self._has_plugin:
            raise ConfigError(f"the gateway ended with status {status}: its messages are above")
        assert self.file is not None
        name = self.file.name
        _say(f"the gateway ended with status {status}: serving without {name} until it is saved again")
        self.start(with_plugin=False)


@contextmanager
def _running(gateway: _Gateway) -> Iterator[_Gateway]:
    try:
        yield gateway
    finally:
        gateway.stop()


def _end(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Stops a process; kills it after ``STOP_TIMEOUT_S``. What it has started ends with it."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _say(text: str) -> None:
    click.echo(f"quoteway dev: {text}", err=True)
