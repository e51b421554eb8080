"""Balancer v3's Vault, routers and weighted pools on an empty chain, for tests of the pools' maths."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import rlp
from chain_state import GAS, MAX_UINT48, MAX_UINT160, MAX_UINT256, ChainState, calldata
from eth_abi import decode, encode
from eth_utils import keccak, to_canonical_address, to_checksum_address
from quoteway_amm.balancer_v3 import WeightedV3Pool
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.packages import prepare, prepare_balancer_v3
from quoteway_devnet.permit2 import ADDRESS as PERMIT2
from quoteway_devnet.permit2 import SALT
from quoteway_devnet.transactions import DEPLOYER, Transactions

ZERO = "0x" + "00" * 20
DECIMALS = (18, 6, 8, 18, 0)
DAYS = 86_400
LEAST_TRADE = 10**6
SWAP_FEE_SHARE, YIELD_FEE_SHARE = 25 * 10**16, 10 * 10**16
STANDARD, WITH_RATE = 0, 1
GIVEN_IN, GIVEN_OUT = 0, 1
BALANCES_SLOT = 5
"""Of the Vault's `_poolTokenBalances`: pool -> place of the token -> balance, and the last live one."""
CREATE = (
    "create(string,string,(address,uint8,address,bool)[],uint256[],(address,address,address),uint256,address,"
    "bool,bool,bytes32)"
)
PATH_IN = "(address,(address,address,bool)[],uint256,uint256)"
QUERIES = {
    GIVEN_IN: f"querySwapExactIn({PATH_IN}[],address,bytes)",
    GIVEN_OUT: f"querySwapExactOut({PATH_IN}[],address,bytes)",
}


def created_by(deployer, nonce):
    """Returns the address of the contract that an account creates with a nonce."""
    return to_checksum_address(keccak(rlp.encode([to_canonical_address(deployer), nonce]))[12:])


@contextmanager
def running():
    """Yields a chain with the Vault, its factory, its routers and five tokens."""
    tools = prepare()
    launched = Anvil.launch(tools.anvil, 31337, free_port())
    with launched as anvil, anvil.rpc() as rpc:
        transactions = Transactions(rpc, tools.bytecode, prepare_balancer_v3())
        transactions.deploy2("Permit2", SALT)
        yield BalancerV3Chain(anvil.port, transactions)


class BalancerV3Chain:
    """`quotes` asks the Vault about any state; `swap` trades with a pool that `join` filled."""

    def __init__(self, port, transactions, weth=None, tokens=None):
        """Deploys the Vault and what belongs to it, and a wrapped coin and tokens where none are given: these
        are (address, decimals).
        """
        self.transactions = transactions
        deploy = transactions.deploy
        self.weth = weth = weth or deploy("WETH9")
        authorizer = deploy("BalancerV3Authorizer")
        # The Vault's parts are told its address before it is there: it is the fourth contract from here.
        vault = created_by(DEPLOYER, transactions._nonce + 3)
        admin = deploy(
            "BalancerV3VaultAdmin", "(address,uint32,uint32,uint256,uint256)",
            vault, 90 * DAYS, 30 * DAYS, LEAST_TRADE, 10**4,
        )  # fmt: skip
        extension = deploy("BalancerV3VaultExtension", "(address,address)", vault, admin)
        self.fees = fees = deploy(
            "BalancerV3ProtocolFeeController", "(address,uint256,uint256)",
            vault, SWAP_FEE_SHARE, YIELD_FEE_SHARE,
        )  # fmt: skip
        self.vault = deploy("BalancerV3Vault", "(address,address,address)", extension, authorizer, fees)
        assert self.vault == vault
        router = "(address,address,address,string)", vault, weth, PERMIT2, "test"
        self.router = deploy("BalancerV3Router", *router)
        self.batch_router = deploy("BalancerV3BatchRouter", *router)
        self.factory = deploy(
            "BalancerV3WeightedPoolFactory",
            "(address,uint32,string,string)",
            vault,
            90 * DAYS,
            "test",
            "test",
        )
        tokens = tokens or [
            (deploy("MintableToken", "(string,string,uint8)", f"Token {at}", f"T{at}", decimals), decimals)
            for at, decimals in enumerate(DECIMALS)
        ]
        # The Vault wants its tokens in the order of their addresses.
        self.tokens = sorted(tokens, key=lambda token: int(token[0], 16))
        self.state = ChainState(port, SimpleNamespace(contracts={}), DEPLOYER)
        self.made = 0

    def weighted(
        self, tokens, weights, swap_fee, rates=None, hooks=ZERO, pays_yield_fees=True, donations=False
    ):
        """Creates a pool and returns its state, with balances of 1. A rate of 0: no provider."""
        self.made += 1
        addresses, rates = [address for address, _ in tokens], rates or [0] * len(tokens)
        configured = [
            (token, WITH_RATE, self.rate_provider(rate), pays_yield_fees)
            if rate
            else (token, STANDARD, ZERO, False)
            for token, rate in zip(addresses, rates, strict=True)
        ]
        data = calldata(
            CREATE, "Pool", "P", configured, weights, (ZERO, ZERO, ZERO), swap_fee, hooks, donations, False,
            self.made.to_bytes(32),
        )  # fmt: skip
        receipt = self._send(self.factory, data)
        (log,) = [log for log in receipt["logs"] if log["address"] == self.factory.lower()]
        pool = "0x" + log["topics"][1][26:]
        (least,) = self.state.call(pool, "getMinTokenBalances()", returns=["uint256[]"])
        factors = tuple(10 ** (18 - decimals) for _, decimals in tokens)
        given = tuple(rate or 10**18 for rate in rates)
        ones = (1,) * len(tokens)
        return WeightedV3Pool(
            pool, tuple(addresses), ones, factors, given, swap_fee, tuple(weights), least, LEAST_TRADE
        )

    def rate_provider(self, rate, address=None):
        """Gives a contract that answers with a rate, at an address of its own or a given one."""
        address = address or f"0x{rate:040x}"
        # PUSH32 rate, MSTORE at 0, RETURN of 32 bytes: the answer to every call.
        self.transactions.rpc("anvil_setCode", address, f"0x7f{rate:064x}60005260206000f3")
        return address

    def quotes(self, cases):
        """Returns what the Vault answers to (pool, kind, i, j, amount): the other amount, or None.

        The pools must be filled. Their states are given for each call, not written.
        """
        return self._asked(cases, self._overrides)

    def answers(self, cases):
        """Returns what the Vault answers in the state that it is in, as ``quotes`` does."""
        return self._asked(cases, lambda _: {})

    def _asked(self, cases, overrides):
        requests = []
        for pool, kind, i, j, amount in cases:
            path = (pool.tokens[i], [(pool.id, pool.tokens[j], False)])
            limits = (amount, 0) if kind == GIVEN_IN else (MAX_UINT256 >> 128, amount)
            data = calldata(QUERIES[kind], [(*path, *limits)], DEPLOYER, b"")
            call = {"from": ZERO, "to": self.batch_router, "data": "0x" + data.hex(), "gas": GAS}
            requests.append(("eth_call", [call, "latest", overrides(pool)]))
        results = []
        for start in range(0, len(requests), 200):
            results += self.state.batch(requests[start : start + 200])
        types = ["uint256[]", "address[]", "uint256[]"]
        return [None if found is None else decode(types, bytes.fromhex(found[2:]))[0][0] for found in results]

    def _overrides(self, pool):
        of_pool = keccak(encode(["address", "uint256"], [pool.id, BALANCES_SLOT]))
        slots = {}
        for at, balance in enumerate(pool.balances):
            # No yield since the last swap: no fee is due.
            live = balance * pool.decimal_factors[at] * pool.rates[at] // 10**18
            slot = "0x" + keccak(encode(["uint256", "bytes32"], [at, of_pool])).hex()
            slots[slot] = f"0x{min(live, 2**128 - 1):032x}{balance:032x}"
        return {self.vault: {"stateDiff": slots}}

    def join(self, pool):
        """Gives the pool its balances. The deployer pays."""
        for token, amount in zip(pool.tokens, pool.balances, strict=True):
            self.fund(token, 10 * amount)
        order = pool.id, list(pool.tokens), list(pool.balances), 0, False, b""
        self._send(
            self.router, calldata("initialize(address,address[],uint256[],uint256,bool,bytes)", *order)
        )

    def fund(self, token, amount):
        """Gives the deployer an amount of a token, and both routers the right to take it through Permit2."""
        if token == self.weth:
            self._send(token, calldata("deposit()"), amount)
        else:
            self._send(token, calldata("mint(address,uint256)", DEPLOYER, amount))
        self._send(token, calldata("approve(address,uint256)", PERMIT2, MAX_UINT256))
        for router in (self.router, self.batch_router):
            approve = "approve(address,address,uint160,uint48)"
            self._send(PERMIT2, calldata(approve, token, router, MAX_UINT160, MAX_UINT48))

    def swap(self, pool, kind, i, j, amount):
        """Executes a swap and returns (in, out) as the sender's balances tell."""
        path = (pool.tokens[i], [(pool.id, pool.tokens[j], False)])
        if kind == GIVEN_IN:
            name, limits = "swapExactIn", (amount, 0)
        else:
            name, limits = "swapExactOut", (MAX_UINT160, amount)
        ends = pool.tokens[i], pool.tokens[j]
        before = [self.balance(token) for token in ends]
        data = calldata(f"{name}({PATH_IN}[],uint256,bool,bytes)", [(*path, *limits)], MAX_UINT48, False, b"")
        self._send(self.batch_router, data)
        after = [self.balance(token) for token in ends]
        return before[0] - after[0], after[1] - before[1]

    def balance(self, token):
        """Returns the deployer's balance."""
        return self.state.call(token, "balanceOf(address)", DEPLOYER, returns=["uint256"])[0]

    def balances(self, pool):
        """Returns the pool's balances after the yield fees that are due."""
        return tuple(self._data(pool)[3])

    def _data(self, pool):
        types = "(bytes32,address[],(uint8,address,bool)[],uint256[],uint256[],uint256[],uint256[])"
        return self.state.call(self.vault, "getPoolData(address)", pool.id, returns=[types])[0]

    def now(self, pool):
        """Returns the pool with the balances and rates that a swap would find."""
        found = self._data(pool)
        return replace(pool, balances=tuple(found[3]), rates=tuple(found[5]))

    def _send(self, to, data, value=0):
        self.transactions.later("sending to " + to, to, data, value)
        return self.transactions.flush()[-1]
