"""Accounts of the devnet that have enough of every token, and what their transactions moved."""

from __future__ import annotations

from quoteway import NATIVE
from quoteway.evm.abi import decode, encode_call
from quoteway.evm.address import checksum, keccak256

RICH = 10**26
TRANSFER = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
"""Of ERC-20 tokens with the amount as data, of ERC-721 ones with the token's id as a topic."""


class RichAccounts:
    """Sends transactions of unlocked accounts of the devnet's first chain."""

    def __init__(self, devnet):
        self.manifest = devnet.chains["devnet"]
        self.contracts = self.manifest.contracts
        self.tokens = {token.address: token for token in self.manifest.tokens}
        self.rpc = devnet.rpc()
        self._done = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rpc.close()

    def send(self, sender, to, data, value=0):
        sent = {"from": sender, "to": to, "data": "0x" + data.hex(), "gas": hex(3_000_000)}
        receipt = self.rpc.send({**sent, "value": hex(value)})
        assert receipt["status"] == "0x1", (to, data[:4].hex())
        return receipt

    def call(self, sender, to, data, *kinds):
        asked = {"from": sender, "to": to, "data": "0x" + data.hex()}
        answer = self.rpc("eth_call", asked, "latest")
        return list(decode(list(kinds), bytes.fromhex(answer[2:])))

    def units(self, token, dollars):
        row = self.tokens[self.contracts["WETH9"] if token == NATIVE else token]
        return max(int(dollars / float(row.price_usd) * 10**row.decimals), 1)

    def allow(self, owner, token, spender, of_permit2=None):
        """Gives an account more of a token than it needs, and lets a contract take it; once each."""
        if token == NATIVE:
            self._once((owner, token), lambda: self.rpc("anvil_setBalance", owner, hex(RICH)))
            return
        if token in self.tokens:
            self._once((owner, token), lambda: self._give(owner, token))
        approve = encode_call("approve(address,uint256)", [spender, 2**256 - 1])
        self._once((owner, token, spender), lambda: self.send(owner, token, approve))
        if of_permit2 is not None:
            grant = [token, of_permit2, 2**160 - 1, 2**48 - 1]
            data = encode_call("approve(address,address,uint160,uint48)", grant)
            self._once((owner, token, of_permit2, spender), lambda: self.send(owner, spender, data))

    def _once(self, what, do):
        if what not in self._done:
            self._done.add(what)
            do()

    def _give(self, owner, token):
        if self.tokens[token].behaviour == "wrapped":
            self.allow(owner, NATIVE, None)
            self.send(owner, token, encode_call("deposit()", []), RICH // 100)
            return
        amount = 10 ** (self.tokens[token].decimals + 12)
        self.send(owner, token, encode_call("mint(address,uint256)", [owner, amount]))


def moved(receipt, tokens, sender, recipient):
    """Returns how much of each token went from one account to another."""
    total = dict.fromkeys(tokens, 0)
    for log in receipt["logs"]:
        if log["topics"][0] == TRANSFER and len(log["topics"]) == 3:
            ends = [checksum("0x" + topic[-40:]) for topic in log["topics"][1:]]
            token = checksum(log["address"])
            if token in total and ends == [sender, recipient]:
                total[token] += int(log["data"], 16)
    return [total[token] for token in tokens]


def minted(receipt, collection):
    """Returns the id of the position token that a transaction made."""
    (log,) = (
        log
        for log in receipt["logs"]
        if checksum(log["address"]) == collection and log["topics"][0] == TRANSFER and len(log["topics"]) == 4
    )
    return int(log["topics"][3], 16)
