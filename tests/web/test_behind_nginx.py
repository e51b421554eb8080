"""Debian's nginx in front of several workers, as deployments run them."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import WAIT_S, until

pytestmark = pytest.mark.services

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 1m;
  client_body_buffer_size 1m;
  upstream quoteway {{
    server 127.0.0.1:{upstream};
    keepalive 8;
  }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://quoteway;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""
CONFIG = """
[server]
trusted_proxies = ["127.0.0.1/32"]
workers = 2
log_format = "json"
access_log = "all"
[plugins]
load = []
[limits]
catalog = "3/minute"
[quotes]
keys = [{id = "a", secret = {env = "KEY"}}]
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Deployment:
    """``quoteway serve`` with two workers, and nginx before it on ``port``."""

    def __init__(self, folder):
        nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        assert nginx is not None, "install nginx"
        self.port, self.log = free_port(), folder / "serve.log"
        (folder / "quoteway.toml").write_text(CONFIG)
        with self.log.open("wb") as sink:
            self.gateway = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "serve", "--port", "0"],
                cwd=folder,
                env={**os.environ, "KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"},
                stderr=sink,
            )
        try:
            self.upstream = until(lambda: self.said(r"listening on http://127\.0\.0\.1:(\d+)", 2))[0]
            until(lambda: self.said("Quoteway is serving"))
            config = NGINX.format(folder=folder, port=self.port, upstream=self.upstream)
            (folder / "nginx.conf").write_text(config)
            self.nginx = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"])
        except BaseException:
            self.gateway.kill()
            self.gateway.wait()
            raise
        until(self._answers)

    def said(self, pattern, count=1):
        found = re.findall(pattern, self.log.read_text())
        return found if len(found) >= count else []

    def workers(self):
        parent = self.gateway.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(pid) for pid in children]

    # Linux has the whole of 127/8. Not the proxy's own address: that one is trusted.
    def connect(self, source="127.0.0.9"):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S, source_address=(source, 0))

    def _answers(self):
        assert self.nginx.poll() is None
        try:
            return ask(self.connect(), "GET", "/healthz")[0] == 200
        except OSError:
            return False

    def stop(self):
        for process in (self.nginx, self.gateway):
            process.send_signal(signal.SIGTERM)
        assert self.nginx.wait(WAIT_S) == 0
        assert self.gateway.wait(WAIT_S) == 0


def ask(connection, method, path, body=None, **headers):
    connection.request(method, path, body, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    raw = answer.read()
    is_json = answer.headers.get_content_type() == "application/json"
    return answer.status, answer.headers, json.loads(raw) if is_json else raw


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    deployment = Deployment(tmp_path_factory.mktemp("deployment"))
    yield deployment
    deployment.stop()


def test_each_client_behind_the_proxy_is_counted_by_itself(deployment):
    """nginx tells the client's address; what the client itself wrote into the header counts for nothing.

    Each worker counts for itself, so over the proxy a client has at most its limit with every worker.
    """
    mine = [
        ask(deployment.connect("127.0.0.2"), "GET", "/v2/networks", **{"X-Forwarded-For": f"203.0.113.{n}"})[
            0
        ]
        for n in range(20)
    ]
    allowed = mine.count(200)
    assert set(mine) == {200, 429}
    assert 3 <= allowed <= 6, "three for each of two workers"
    assert ask(deployment.connect("127.0.0.3"), "GET", "/v2/networks")[0] == 200


def test_requests_share_a_kept_connection(deployment):
    connection = deployment.connect()
    for _ in range(50):
        status, headers, _ = ask(connection, "GET", "/healthz")
        assert status == 200
        assert headers["X-Request-ID"]
    kept = connection.sock
    assert ask(connection, "GET", "/healthz")[0] == 200
    assert connection.sock is kept


def test_the_gateway_s_own_limit_of_bodies_answers_in_the_envelope(deployment):
    body = b" " * 70_000
    status, headers, answer = ask(deployment.connect(), "POST", "/v2/swaps/quote", body)
    assert status == 413
    assert answer["error"]["requestId"] == headers["X-Request-ID"]
    status, _, answer = ask(deployment.connect(), "POST", "/v2/swaps/quote", b"{}")
    assert (status, answer["error"]["code"]) == (422, "validation_error")


def test_a_killed_worker_costs_no_later_request(deployment):
    before = deployment.workers()
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    until(lambda: deployment.said("worker . ended with status -9"))
    # nginx may hold a connection to the dead worker; it asks the other one for a GET.
    assert [ask(deployment.connect(), "GET", "/healthz")[0] for _ in range(50)] == [200] * 50
    until(lambda: deployment.said("listening on", 3))
    after = deployment.workers()
    assert len(after) == 2
    assert before[1] in after
