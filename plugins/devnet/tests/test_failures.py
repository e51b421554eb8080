import json
import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from ports import closes
from quoteway_devnet import packages
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.chains import Devnet
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.packages import Package, appearing, prepare


def test_a_taken_port_is_named_with_the_remedy():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(DevnetError, match=rf"Port {port}.*chain 31338.*taken.*choose another port"),
            Devnet.running({"devnet": free_port(), "devnet-l2": port}),
        ):
            pass


def test_nothing_is_left_running_after_a_failed_start():
    first = free_port()
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"devnet": first, "devnet-l2": other.getsockname()[1]}
        with pytest.raises(DevnetError), Devnet.running(ports):
            pass
    assert closes(first)


@pytest.mark.slow
def test_without_npm_the_remedy_is_said(tmp_path):
    environment = os.environ | {"PATH": str(tmp_path), "QUOTEWAY_CACHE_DIR": str(tmp_path / "cache")}
    code = "from quoteway_devnet.packages import prepare; prepare()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert "DevnetError: npm is not on PATH" in done.stderr
    assert "install Node.js" in done.stderr.splitlines()[-1]


def test_without_a_build_of_anvil_the_remedy_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("QUOTEWAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(packages, "anvil_on_path", lambda: None)
    monkeypatch.setattr(packages.platform, "machine", lambda: "riscv64")
    with pytest.raises(DevnetError, match=r"riscv64; install Foundry.*on PATH"):
        prepare()


def test_a_recent_anvil_on_path_is_used_and_an_old_one_is_not(monkeypatch, tmp_path):
    binary = tmp_path / "anvil"
    for version, used in (("1.2.3", True), ("0.3.0", False)):
        binary.write_text(f"#!/bin/sh\necho anvil Version: {version}-stable\n")
        binary.chmod(0o755)
        packages.anvil_version.cache_clear()
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        assert (packages.anvil_on_path() == binary) is used
    packages.anvil_version.cache_clear()


def test_another_tarball_is_refused(tmp_path):
    package = Package("@a/b", "1.0.0", "MIT", "sha512-AAAA")
    assert package.tarball == "a-b-1.0.0.tgz"
    (tmp_path / package.tarball).write_bytes(b"not the published one")
    with pytest.raises(DevnetError, match=r"@a/b@1\.0\.0 .*expected sha512-AAAA.*published package"):
        packages._check_integrity(package, tmp_path / package.tarball)


def test_pins_are_exact_and_hashed():
    pins = json.loads(packages._pins_text())
    for row in pins["contracts"] + pins["public"] + pins["anvil"]:
        assert row["version"][0].isdigit()
        assert row["integrity"].startswith("sha512-")
        assert len(row["integrity"]) == 95


def test_a_cache_entry_appears_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "entry"
    with pytest.raises(FileNotFoundError), appearing(folder) as scratch:
        shutil.copytree(tmp_path / "lacking", scratch / "half")
    assert list(tmp_path.iterdir()) == []
    with appearing(folder) as scratch:
        (scratch / "whole").write_text("x")
    assert [item.name for item in tmp_path.iterdir()] == ["entry"]


def test_anvil_dies_with_its_parent():
    port = free_port()
    code = f"""
import time
from quoteway_devnet.anvil import Anvil
from quoteway_devnet.packages import prepare
anvil = Anvil.launch(prepare().anvil, 31337, {port})
anvil.wait()
print("up", flush=True)
time.sleep(3600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "up\n"
        parent.send_signal(signal.SIGKILL)
    assert closes(port)


def test_anvil_stops_and_says_why_it_could_not_start(tmp_path):
    broken = tmp_path / "state.json"
    broken.write_text("{}")
    with pytest.raises(DevnetError, match=r"anvil for chain 31337 ended at once \(.+\)"):
        Anvil.launch(prepare().anvil, 31337, free_port(), broken).wait()
