"""A fake LI.FI for the devnet: honest offers over the real Uniswap v2 router and Across SpokePool.

The gateway cannot decode the calldata of its swaps, as with most of LI.FI's. Its transfers are Across
deposits, which the plugin decodes.
"""

from __future__ import annotations

import asyncio
import time

from fake_lifi import patched
from quoteway import MAX_UINT256, NATIVE
from quoteway.evm.abi import encode_call, function

THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
AMOUNTS_OUT = function("getAmountsOut(uint256 amountIn, address[] path) returns (uint256[] amounts)")
SWAPS = {
    (False, False): "swapExactTokensForTokens(uint256 a, uint256 min, address[] path, address to, uint256 d)",
    (False, True): "swapExactTokensForETH(uint256 a, uint256 min, address[] path, address to, uint256 d)",
    (True, False): "swapExactETHForTokens(uint256 min, address[] path, address to, uint256 d)",
}
# SpokePoolInterface of Across, its form with 32-byte addresses.
DEPOSIT = (
    "deposit(bytes32 depositor, bytes32 recipient, bytes32 inputToken, bytes32 outputToken, uint256 input,"
    " uint256 output, uint256 chainId, bytes32 relayer, uint32 quoted, uint32 fillBy, uint32 exclusivity,"
    " bytes message)"
)
DEADLINE_S = 1200


class DevnetLifi:
    """``answer`` for ``FakeLifi``. ``patch`` is applied to every answer from the second on: the quote is
    honest, the answer to the action is not."""

    def __init__(self, devnet, patch=()):
        self.devnet = devnet
        self.patch = patch
        self.chains = {chain.chain_id: chain for chain in devnet.chains.values()}

    async def answer(self, path, query, count):
        assert path == "/v1/quote"
        return await asyncio.to_thread(self._answer, query, count)

    def _answer(self, query, count):
        crossing = query["fromChain"] != query["toChain"]
        body = self._transfer(query) if crossing else self._swap(query)
        if body is None:
            return {"status": 404, "body": {"message": "No available quotes", "code": 1002}}
        if count > 1 and self.patch:
            made = self.lies(query, body)
            body = patched(
                body,
                [
                    (path, made.get(value, value) if isinstance(value, str) else value)
                    for path, value in self.patch
                ],
            )
        return {"body": body}

    # --- honest ---------------------------------------------------------------------------------------------

    def _swap(self, query, **changes):
        chain = self.chains[int(query["fromChain"])]
        amount, weth = int(query["fromAmount"]), chain.contracts["WETH9"]
        ends = query["fromToken"], query["toToken"]
        path = [weth if token == NATIVE else token for token in ends]
        out = self._amount_out(chain, amount, path)
        if out is None:
            return None
        minimum = self._minimum(out, query)
        kind = ends[0] == NATIVE, ends[1] == NATIVE
        terms = {
            "a": amount,
            "min": minimum,
            "path": path,
            "to": query["toAddress"],
            "d": self._deadline(chain),
        }
        terms.update(changes)
        call = function(SWAPS[kind])
        data = call.encode([terms[name] for name in call.names])
        router = chain.contracts["UniswapV2Router02"]
        return self._step(query, "swap", "uniswap", router, data, out, minimum, amount if kind[0] else 0)

    def _transfer(self, query, **changes):
        origin, target = self.chains[int(query["fromChain"])], self.chains[int(query["toChain"])]
        amount = int(query["fromAmount"])
        out = amount - max(1, amount // 1000)
        if out <= 0:
            return None
        minimum = out  # an intent is filled exactly or not at all
        tokens = [
            c.contracts["WETH9"] if t == NATIVE else t
            for c, t in ((origin, query["fromToken"]), (target, query["toToken"]))
        ]
        now = self._latest(origin)
        terms = {
            "depositor": query["fromAddress"],
            "recipient": query["toAddress"],
            "inputToken": tokens[0],
            "outputToken": tokens[1],
            "input": amount,
            "output": minimum,
            "chainId": target.chain_id,
            "relayer": NATIVE,
            "quoted": now,
            "fillBy": now + 3600,
            "exclusivity": 0,
            "message": b"",
            **changes,
        }
        call = function(DEPOSIT)
        wide = {"depositor", "recipient", "inputToken", "outputToken", "relayer"}
        data = call.encode([_wide(v) if name in wide else v for name, v in terms.items()])
        value = amount if query["fromToken"] == NATIVE else 0
        return self._step(query, "cross", "across", origin.contracts["SpokePool"], data, out, minimum, value)

    def _step(self, query, kind, tool, to, data, out, minimum, value):
        ends = {}
        for side in ("from", "to"):
            address, chain_id = query[f"{side}Token"], int(query[f"{side}Chain"])
            rows = {token.address: token.decimals for token in self.chains[chain_id].tokens}
            ends[side] = {"address": address, "chainId": chain_id, "decimals": rows.get(address, 18)}
        action = {
            "fromChainId": int(query["fromChain"]),
            "toChainId": int(query["toChain"]),
            "fromToken": ends["from"],
            "toToken": ends["to"],
            "fromAmount": query["fromAmount"],
            "fromAddress": query["fromAddress"],
            "toAddress": query["toAddress"],
        }
        estimate = {
            "tool": tool,
            "fromAmount": query["fromAmount"],
            "toAmount": str(out),
            "toAmountMin": str(minimum),
            "approvalAddress": to,
            "executionDuration": 30,
        }
        return {
            "type": "lifi",
            "tool": tool,
            "action": action,
            "estimate": estimate,
            "includedSteps": [{"type": kind, "tool": tool, "action": action, "estimate": estimate}],
            "transactionRequest": {
                "from": query["fromAddress"],
                "to": to,
                "chainId": int(query["fromChain"]),
                "data": "0x" + data.hex(),
                "value": hex(value),
            },
        }

    def _amount_out(self, chain, amount, path):
        call = {
            "to": chain.contracts["UniswapV2Router02"],
            "data": "0x" + AMOUNTS_OUT.encode([amount, path]).hex(),
        }
        with self.devnet.rpc(chain.slug) as rpc:
            try:
                answer = rpc("eth_call", call, "latest")
            except Exception:  # the devnet's own error class, whatever it is: there is no such pool
                return None
        ((*_, out),) = AMOUNTS_OUT.decode_output(bytes.fromhex(answer[2:]))
        return out

    def _deadline(self, chain):
        # The newest block may be old: nobody mines on the devnet while no test sends anything.
        return max(self._latest(chain), int(time.time())) + DEADLINE_S

    def _latest(self, chain):
        with self.devnet.rpc(chain.slug) as rpc:
            return int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    @staticmethod
    def _minimum(out, query):
        parts = round(float(query["slippage"]) * 10**6)
        return out * (10**6 - parts) // 10**6

    # --- lies -----------------------------------------------------------------------------------------------

    def lies(self, query, honest):
        """Returns the values for the names in a case file's patch."""
        chain = self.chains[int(query["fromChain"])]
        amount = int(query["fromAmount"])
        other, tether = chain.token("DAI").address, chain.token("USDT").address
        found = {
            "$THIEF": THIEF,
            "$TOKEN_IN": query["fromToken"],
            "$OTHER": other,
            "$ROUTER": chain.contracts["UniswapV2Router02"],
            "$TWICE": str(2 * amount),
            "$TWICE_OUT": str(2 * int(honest["estimate"]["toAmount"])),
        }
        minimum = int(honest["estimate"]["toAmountMin"])
        found["$UNLIMITED_APPROVAL"] = (
            "0x" + encode_call("approve(address s, uint256 a)", [THIEF, MAX_UINT256]).hex()
        )
        if query["fromChain"] == query["toChain"]:
            path = [query["fromToken"], query["toToken"]]
            made = {
                "$LOWER_MINIMUM": {"min": minimum - 1},
                "$PAYS_THE_THIEF": {"to": THIEF},
                # The minimum is in the calldata, as the deadline.
                "$PAYS_ANOTHER_TOKEN": {"path": [path[0], tether], "min": 1, "d": minimum},
                "$HOLDS_TWICE": {"min": 1, "d": 2 * int(honest["estimate"]["toAmount"])},
                "$SELLS_LESS": {"a": amount - 1},
                "$SELLS_MORE": {"a": amount + 1},
                "$REVERTS": {"d": 1},
            }
            for name, changes in made.items():
                found[name] = self._swap(query, **changes)["transactionRequest"]["data"]
            # A view of the router: it does nothing, and its arguments contain the minimum.
            idle = encode_call("quote(uint256 a, uint256 b, uint256 c)", [1, minimum, 1])
            found["$DOES_NOTHING"] = "0x" + idle.hex()
            return found
        needed = [query["toAddress"], query["toToken"], hex(minimum), hex(int(query["toChain"]))]
        words = b"".join(int(word, 16).to_bytes(32) for word in needed)
        made = {
            "$TO_THE_THIEF": {"recipient": THIEF},
            "$TO_ANOTHER_CHAIN": {"chainId": 56},
            "$OF_ANOTHER_TOKEN": {"outputToken": other},
            "$OF_LESS": {"output": minimum - 1},
            "$WORDS_IN_THE_MESSAGE": {"recipient": THIEF, "output": 1, "message": words},
            "$DEPOSITS_LESS": {"input": amount - 1},
            "$DEPOSITS_MORE": {"input": amount + 1},
        }
        for name, changes in made.items():
            found[name] = self._transfer(query, **changes)["transactionRequest"]["data"]
        swap = encode_call(
            SWAPS[False, False],
            [amount, minimum, [query["fromToken"], other], query["fromAddress"], self._deadline(chain)],
        )
        found["$SWAPS_INSTEAD"] = "0x" + swap.hex()
        return found


def _wide(address):
    return bytes.fromhex(address[2:]).rjust(32, b"\0")
