"""Deploys the vault on running chains and prints its address: `python deploy.py [port] [l2_port]`."""

import json
import sys
from pathlib import Path

from quoteway_devnet.chains import Devnet

ports = map(int, sys.argv[1:] or (8545, 8546))
devnet = Devnet.attach(dict(zip(("devnet", "devnet-l2"), ports, strict=True)))
artifact = json.loads((Path(__file__).parent / "contracts" / "YearnLikeVault.json").read_text())
usdc = devnet.token("USDC").address
print(devnet.deploy(bytes.fromhex(artifact["bytecode"].removeprefix("0x")), "(address)", usdc))
