"""The shipped ``deploy/nginx.conf`` as tests run it: other names, ports and folders alone."""

import os
import shutil
from pathlib import Path

SHIPPED = Path(__file__).parents[1] / "deploy" / "nginx.conf"
_FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def command(folder, port, *replica_ports):
    """Writes the configuration of an nginx at ``port`` before two replicas; the command that runs it.

    What nginx has to say of requests that it sends to another replica is in ``error.log`` of the folder.
    """
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "install nginx"
    first, second = replica_ports
    places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in _FOLDERS)
    text = SHIPPED.read_text()
    for shipped, here in (
        ("server gateway-1:8080", f"server 127.0.0.1:{first}"),
        ("server gateway-2:8080", f"server 127.0.0.1:{second}"),
        ("listen 8443;", f"listen 127.0.0.1:{port};"),
        ("/run/nginx.pid", f"{folder}/nginx.pid"),
        ("http {", f"http {{ {places}"),
    ):
        assert text.count(shipped) == 1, shipped
        text = text.replace(shipped, here)
    path = Path(folder, "nginx.conf")
    path.write_text(text)
    options = f"daemon off; error_log {folder}/error.log;"
    return [program, "-p", str(folder), "-c", str(path), "-g", options]
