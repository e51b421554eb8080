"""``quoteway describe`` on the devnet, and what its answers describe."""

import types
from pathlib import Path

from click.testing import CliRunner
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.known_calls import DESCRIBED
from quoteway.evm.calls.registry import digest_of
from quoteway.server.cli import main
from quoteway_devnet.accounts import ACCOUNTS

FOLDER = Path(__file__).parent / "abi"
V2, V3 = FOLDER / "UniswapV2Router02.json", FOLDER / "SwapRouter02.json"
SENDER, OTHER = ACCOUNTS[3].address, ACCOUNTS[6].address
NOBODY = "0x00000000000000000000000000000000000000aa"
KEY = {"KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
FUTURE = 4_000_000_000
SWAP = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"


class Devnet:
    """The devnet, with ``quoteway describe`` on it."""

    def __init__(self, devnet, folder):
        self.chain, self.folder = devnet.chains["devnet"], folder
        self.devnet, self.url = devnet, devnet.urls["devnet"]
        ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
        lines = [f"{name} = {port}" for name, port in ports.items()]
        keys = '[quotes]\nkeys = [{id = "a", secret = {env = "KEY"}}]'
        section = "\n".join(["[plugin.devnet]", "enabled = true", "start = false", *lines, keys])
        (folder / "quoteway.toml").write_text(section)
        self.v2, self.v3 = self.chain.contracts["UniswapV2Router02"], self.chain.contracts["SwapRouter02"]

    def __getitem__(self, symbol):
        return self.chain.token(symbol).address

    def describe(self, abi, *options, network="devnet"):
        options = [str(abi), "--network", network, "--config", str(self.folder / "quoteway.toml"), *options]
        return CliRunner().invoke(main, ["describe", *options], env=KEY)

    def call(self, abi, to, signature, *values, sender=SENDER, options=()):
        data = "0x" + encode_call(signature, values).hex()
        return self.describe(abi, "--to", to, "--data", data, "--from", sender, *options)

    def swap(self, to=None, minimum=1, deadline=FUTURE, path=("USDC", "WETH"), abi=V2):
        tokens = [self[symbol] for symbol in path]
        return self.call(abi, to or self.v2, SWAP, 10**9, minimum, tokens, SENDER, deadline)


def described(result, status=0):
    """Returns the contract that the printed source describes."""
    assert result.exit_code == status, result.output
    module = types.ModuleType("found")
    exec(compile(result.stdout, "found.py", "exec"), module.__dict__)
    (contract,) = module.quoteway_call_descriptions(None)
    assert f'"{digest_of([contract])}"' in result.stdout
    return contract


def call_of(result, status=0):
    (call,) = described(result, status).calls
    return call


def known(kind, name):
    (found,) = (each for each in DESCRIBED[kind] if each.declaration.startswith(f"{name}("))
    return found
