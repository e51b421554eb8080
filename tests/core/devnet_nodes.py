"""Nodes that a chain client asks: the devnet's, counted and changed on the way, or one in this process."""

import time

import aiohttp
import orjson
from quoteway.errors import RpcError
from quoteway.networks import Network

RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"  # anvil's first account
NOBODY = "0x00000000000000000000000000000000000000A1"
DEVNET = Network("devnet", 31337, "Devnet", head_poll_s=60)
FAST = Network("devnet", 31337, "Devnet", head_poll_s=0.05)


class Node:
    """A node in this process, or a real one behind ``url``, that counts and can be slowed or broken.

    ``rewrite(method, answer)`` gives what is answered instead of the real node's answer.
    """

    def __init__(self, url=None, rewrite=None):
        self.url = url
        self.rewrite = rewrite
        self.asked = []
        self.broken = None
        self.gate = None
        self.answers = {"eth_chainId": "0x7a69"}

    async def __call__(self, method, params, timeout_s):
        self.asked.append(method)
        if self.gate is not None and method != "eth_chainId":
            await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        if method in self.answers:
            answer = self.answers[method]
            return answer(params) if callable(answer) else answer
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with aiohttp.ClientSession() as http, http.post(self.url, json=body) as response:
            answer = orjson.loads(await response.read())
        if self.rewrite is not None:
            answer = self.rewrite(method, answer)
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return answer["result"]


def block_answer(number):
    return {
        "number": hex(number),
        "hash": f"0x{number:064x}",
        "timestamp": hex(1000 + number),
        "baseFeePerGas": "0x7",
    }


def mined(rpc, transaction):
    """anvil answers before its block is made."""
    sent = rpc("eth_sendTransaction", transaction)
    while (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
        time.sleep(0.01)
    return receipt


def token(devnet, symbol):
    return next(row.address for row in devnet.chains["devnet"].tokens if row.symbol == symbol)
