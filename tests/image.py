"""Carries out the steps of ``deploy/Dockerfile`` without Docker, and runs what they make as the image would.

``make test-wheels`` runs it. The steps run as they are written, with their folders below a temporary one. The
server runs as the unprivileged user of the image, which can write nowhere but in ``HOME``.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from quoteway_devnet.anvil import free_port
from quoteway_devnet.chains import Devnet
from wheels import ROOT, WAIT_S, ask

FILE = ROOT / "deploy" / "Dockerfile"
KEY = "5f1d8c0ba3e94276b8d1f60c7a2e39485d6c1b0fae8237946bd5c8e10f7a9236"
CONFIG = """
[networks.local]
chain_id = 31337
rpc = ["{url}"]

[quotes]
keys = [{{ id = "a", secret = {{ file = "{key}" }} }}]
"""


def instructions(text):
    """The instructions of a Dockerfile, each with its arguments as one line of text."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def stages(text):
    """The instructions below each FROM."""
    found = []
    for keyword, rest in instructions(text):
        if keyword == "FROM":
            found.append([])
        found[-1].append((keyword, rest))
    return found


class Image:
    """The steps of the file, with the folders of the image below ``root``."""

    def __init__(self, root):
        self.root = root
        self.folder = "/"
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.environment["PATH"] = f"{Path(sys._base_executable).parent}:{os.environ['PATH']}"

    def inside(self, text):
        """The text with the image's own folders below the root. ``python`` is that of the base image."""
        return re.sub(r"(?<![\w.*$/{}-])/(src|build|wheels|opt|etc|tmp)\b", rf"{self.root}/\1", text)

    def path(self, text):
        return self.root / (Path(self.folder) / text).relative_to("/")

    def build(self, steps):
        """Carries out one stage."""
        self.folder = "/"
        for keyword, rest in steps:
            getattr(self, f"_{keyword.lower()}")(rest)

    def _from(self, rest):
        # The tests have no registry of images: the interpreter of the base is the one that runs this.
        assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+(?: AS build)?", rest), rest

    def _arg(self, rest):
        (word,) = shlex.split(rest)
        name, _, value = word.partition("=")
        self.environment[name] = value

    def _workdir(self, rest):
        self.folder = rest
        self.path(".").mkdir(parents=True, exist_ok=True)

    def _copy(self, rest):
        *sources, target = rest.split()
        if sources[0].startswith("--from="):
            # The stages have one root here, so it is there already.
            assert sources[1:] == [target]
            assert self.path(target).is_dir()
            return
        for source in sources:
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("node_modules", "tests", "__pycache__")
                whole = shutil.ignore_patterns("node_modules", "__pycache__")
                shutil.copytree(
                    ROOT / source, self.path(target), ignore=ignored if source == "plugins" else whole
                )
            else:
                shutil.copy(ROOT / source, self.path(target))

    def _run(self, rest):
        print("+", rest, flush=True)
        command = re.sub(r"(?<![\w/])python(?= -m)", shlex.quote(sys._base_executable), self.inside(rest))
        subprocess.run(["/bin/sh", "-ec", command], cwd=self.path("."), env=self.environment, check=True)

    def _env(self, rest):
        for word in shlex.split(rest):
            name, _, value = word.partition("=")
            self.environment[name] = self.inside(value).replace("$PATH", self.environment["PATH"])

    def _user(self, rest):
        self.user = rest.split(":")
        assert all(int(each) >= 10000 for each in self.user), "an unprivileged user, by number"

    def _expose(self, rest):
        self.port = int(rest)

    def _healthcheck(self, rest):
        self.health = json.loads(rest.partition(" CMD ")[2])

    def _cmd(self, rest):
        self.command = json.loads(rest)

    def as_its_user(self, command):
        """The command as the user of the image: not even the owner of the files may write to them."""
        user, group = self.user
        return ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", *command]

    def run(self, command, **environment):
        return subprocess.run(
            self.as_its_user(command),
            cwd=self.path("."),
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def read_only(image):
    """Nothing below the root can be written but the folder of temporary files."""
    writable = image.root / "tmp"
    writable.mkdir(exist_ok=True)
    subprocess.run(["chmod", "-R", "a-w", image.root], check=True)
    writable.chmod(0o777)
    try:
        yield
    finally:
        subprocess.run(["chmod", "-R", "u+w", image.root], check=True)


def configure(folder, url):
    """Configures a deployment of one network, whose node is at ``url``."""
    key = folder / "secrets"
    key.write_text(KEY)
    (folder / "quoteway.toml").write_text(CONFIG.format(url=url, key=key))


def serve(image, url):
    """Configures the image as a deployment of one network, starts it, asks it and stops it."""
    configure(image.path("."), url)
    port = free_port()
    own = {"QUOTEWAY_SERVER__PORT": str(port)}
    health = [part.replace(f":{image.port}/", f":{port}/") for part in image.health]
    assert health != image.health
    with read_only(image):
        refused = image.run(["python", "-c", f"open('{image.root}/opt/quoteway/new', 'w')"])
        assert "Permission denied" in refused.stderr, refused
        assert image.run(health).returncode != 0, "the check passes without a server"
        log = image.root / "tmp" / "log"
        began = time.monotonic()
        with log.open("wb") as sink:
            server = subprocess.Popen(
                image.as_its_user(image.command),
                cwd=image.path("."),
                env={**image.environment, **own},
                stderr=sink,
            )
        try:
            while image.run(health).returncode:
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < began + WAIT_S, log.read_text()
                time.sleep(0.1)
            print(f"ready after {time.monotonic() - began:.1f} s")
            body = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
            assert ask(f"http://127.0.0.1:{port}/v2/rpc/31337", body)["result"] == hex(31337)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/providers", timeout=WAIT_S) as answer:
                served = {row["id"] for row in json.load(answer)["data"]}
            assert {"uniswap", "erc4626", "tokenlist"} <= served, served
        finally:
            server.terminate()
            assert server.wait(WAIT_S) == 0, log.read_text()


def main():
    with tempfile.TemporaryDirectory(prefix="quoteway-image-") as scratch:
        image = Image(Path(scratch))
        for steps in stages(FILE.read_text()):
            image.build(steps)
        with Devnet.running() as running:
            serve(image, running.urls["devnet"])


if __name__ == "__main__":
    main()
