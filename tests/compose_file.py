"""The compose file of deploy/ as its tests read it."""

from pathlib import Path

import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"
CONFIG = DEPLOY / "compose" / "quoteway.toml"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
GATEWAYS = ("gateway-1", "gateway-2")
SECRETS = {
    "quoteway_key": "5a1f0e9c7b3d8264aa90c1fe37d5b8c26b1d4e8f",
    "ethereum_rpc_url": "https://node.example/v2/0123456789abcdef",
    "index_url": "postgresql://quoteway:0f3c8d7a5b21@postgres:5432/quoteway",
}
"""Contents of the files that the gateways read."""


def configured(folder, **secrets):
    """Writes the shipped configuration, with its secrets in ``folder``. Returns its path."""
    for name, value in {**SECRETS, **secrets}.items():
        (folder / name).write_text(value + "\n")
    path = folder / "quoteway.toml"
    path.write_text(CONFIG.read_text().replace("/run/secrets/", f"{folder}/"))
    return path
