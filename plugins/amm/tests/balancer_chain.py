"""Balancer v2's Vault, factories and pools on an empty chain, for tests of the pools' maths."""

from contextlib import contextmanager
from types import SimpleNamespace

from chain_state import MAX_UINT48, MAX_UINT256, ChainState, calldata
from eth_abi import encode
from quoteway_amm.balancer_stable import ComposableStablePool
from quoteway_amm.weighted import WeightedPool
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.packages import prepare, prepare_balancer
from quoteway_devnet.transactions import DEPLOYER, Transactions

ZERO = "0x" + "00" * 20
DECIMALS = (18, 6, 8, 18, 0)
DAYS = 86_400
REQUEST = "(uint8,address,address,uint256,bytes32,uint256,address,address,bytes)"
MINIMAL_SWAP = f"onSwap({REQUEST},uint256,uint256)"
GENERAL_SWAP = f"onSwap({REQUEST},uint256[],uint256,uint256)"
NAMED = "string,string,address[]"
NEW_WEIGHTED_V1 = f"create({NAMED},uint256[],uint256,address)"
NEW_WEIGHTED_V3 = f"create({NAMED},uint256[],address[],uint256,address)"
NEW_STABLE = f"create({NAMED},uint256,address[],uint256[],bool[],uint256,address)"
GIVEN_IN, GIVEN_OUT = 0, 1


@contextmanager
def running():
    """Yields a chain with the Vault, its factories and five tokens."""
    tools = prepare()
    launched = Anvil.launch(tools.anvil, 31337, free_port())
    with launched as anvil, anvil.rpc() as rpc:
        yield BalancerChain(anvil.port, Transactions(rpc, tools.bytecode, prepare_balancer()))


class BalancerChain:
    """`quotes` asks a pool's code about any state; `swap` trades with a pool that `join` filled."""

    def __init__(self, port, transactions, weth=None, tokens=None):
        """Deploys the Vault and its factories, and a wrapped coin and tokens where none are given: these are
        (address, decimals).
        """
        self.transactions = transactions
        deploy = transactions.deploy
        self.weth = weth = weth or deploy("WETH9")
        authorizer = deploy("BalancerAuthorizer", "(address)", DEPLOYER)
        vault = deploy(
            "BalancerVault", "(address,address,uint256,uint256)", authorizer, weth, 90 * DAYS, 30 * DAYS
        )
        self.fees = fees = deploy(
            "BalancerFeePercentages", "(address,uint256,uint256)", vault, 10**18, 10**18
        )
        settings = "(address,address,string,string)", vault, fees, "", ""
        self.vault = vault
        self.weighted_v1 = deploy("BalancerWeightedPoolFactoryV1", "(address)", vault)
        self.weighted_v3 = deploy("BalancerWeightedPoolFactoryV3", *settings)
        self.stable = deploy("BalancerComposableStablePoolFactoryV3", *settings)
        tokens = tokens or [
            (deploy("MintableToken", "(string,string,uint8)", f"Token {at}", f"T{at}", decimals), decimals)
            for at, decimals in enumerate(DECIMALS)
        ]
        # The Vault wants its tokens in the order of their addresses.
        self.tokens = sorted(tokens, key=lambda token: int(token[0], 16))
        self.state = ChainState(port, SimpleNamespace(contracts={}), DEPLOYER)
        self.pool_state = ChainState(port, SimpleNamespace(contracts={}), vault)

    def weighted(self, tokens, weights, swap_fee, first_release=False):
        """Creates a pool and returns its state, with balances of 1."""
        addresses = [address for address, _ in tokens]
        if first_release:
            new = calldata(NEW_WEIGHTED_V1, "Pool", "P", addresses, weights, swap_fee, DEPLOYER)
            pool_id = self._created(self.weighted_v1, new)
        else:
            providers = [ZERO] * len(tokens)
            new = calldata(NEW_WEIGHTED_V3, "Pool", "P", addresses, weights, providers, swap_fee, DEPLOYER)
            pool_id = self._created(self.weighted_v3, new)
        factors = tuple(10 ** (36 - decimals) for _, decimals in tokens)
        ones = (1,) * len(tokens)
        return WeightedPool(
            pool_id, tuple(addresses), ones, factors, swap_fee, tuple(weights), not first_release
        )

    def composable_stable(self, tokens, amplification, swap_fee, rates, cached_s=0):
        """Creates a pool whose tokens have the given rates and returns its state, with balances of 1.

        The pool keeps the rates for ``cached_s``. A token with a rate of 0 has no provider.
        """
        addresses = [address for address, _ in tokens]
        providers = [self.rate_provider(rate) if rate else ZERO for rate in rates]
        new = calldata(
            NEW_STABLE, "Pool", "P", addresses, amplification, providers, [cached_s] * len(tokens),
            [False] * len(tokens), swap_fee, DEPLOYER,
        )  # fmt: skip
        pool_id = self._created(self.stable, new)
        factors = tuple(
            10 ** (18 - decimals) * (rate or 10**18)
            for (_, decimals), rate in zip(tokens, rates, strict=True)
        )
        ones = (1,) * len(tokens)
        return ComposableStablePool(pool_id, tuple(addresses), ones, factors, swap_fee, amplification * 1000)

    def quotes(self, cases):
        """Returns what each pool's code answers to (pool, kind, i, j, amount): the other amount, or None."""
        calls = [(pool.id[:42], self._swap_call(*case)) for case in cases for pool in case[:1]]
        return [found and found[0] for found in self.pool_state.calls(calls, ["uint256"])]

    def _swap_call(self, pool, kind, i, j, amount):
        request = (
            kind, pool.tokens[i], pool.tokens[j], amount, bytes.fromhex(pool.id[2:]), 0, DEPLOYER, DEPLOYER,
            b"",
        )  # fmt: skip
        if isinstance(pool, WeightedPool):
            return calldata(MINIMAL_SWAP, request, pool.balances[i], pool.balances[j])
        at = self.registered(pool).index(pool.id[:42].lower())
        balances = [*pool.balances[:at], 2**111, *pool.balances[at:]]
        return calldata(GENERAL_SWAP, request, balances, i + (i >= at), j + (j >= at))

    def registered(self, pool):
        """Returns the Vault's tokens of a stable pool, which has the pool token among them."""
        return sorted([pool.id[:42].lower(), *(token.lower() for token in pool.tokens)])

    def join(self, pool):
        """Gives the pool its balances. The deployer pays."""
        assets, amounts = list(pool.tokens), list(pool.balances)
        for token, amount in zip(pool.tokens, pool.balances, strict=True):
            if token == self.weth:
                self._send(token, calldata("deposit()"), 10 * amount)
            else:
                self._send(token, calldata("mint(address,uint256)", DEPLOYER, 10 * amount))
            self._send(token, calldata("approve(address,uint256)", self.vault, MAX_UINT256))
        if isinstance(pool, ComposableStablePool):
            assets = self.registered(pool)
            amounts.insert(assets.index(pool.id[:42].lower()), 0)
        initial = encode(["uint256", "uint256[]"], [0, amounts])
        order = (assets, [MAX_UINT256] * len(assets), initial, False)
        signature = "joinPool(bytes32,address,address,(address[],uint256[],bytes,bool))"
        self._send(self.vault, calldata(signature, bytes.fromhex(pool.id[2:]), DEPLOYER, DEPLOYER, order))

    def swap(self, pool, kind, i, j, amount):
        """Executes a swap and returns (in, out) as the Vault's balances tell."""
        signature = (
            "swap((bytes32,uint8,address,address,uint256,bytes),(address,bool,address,bool),uint256,uint256)"
        )
        order = (bytes.fromhex(pool.id[2:]), kind, pool.tokens[i], pool.tokens[j], amount, b"")
        limit = 0 if kind == GIVEN_IN else MAX_UINT256
        before = self.balances(pool)
        self._send(
            self.vault, calldata(signature, order, (DEPLOYER, False, DEPLOYER, False), limit, MAX_UINT48)
        )
        after = self.balances(pool)
        return after[i] - before[i], before[j] - after[j]

    def balances(self, pool):
        """Returns the Vault's balances of the pool's tokens."""
        tokens, balances, _ = self.state.call(
            self.vault, "getPoolTokens(bytes32)", bytes.fromhex(pool.id[2:]),
            returns=["address[]", "uint256[]", "uint256"],
        )  # fmt: skip
        known = dict(zip(tokens, balances, strict=True))
        return tuple(known[token.lower()] for token in pool.tokens)

    def _created(self, factory, data):
        receipt = self._send(factory, data)
        (log,) = [log for log in receipt["logs"] if log["address"] == factory.lower()]
        (pool_id,) = self.state.call("0x" + log["topics"][1][26:], "getPoolId()", returns=["bytes32"])
        return "0x" + pool_id.hex()

    def rate_provider(self, rate, address=None):
        """Gives a contract that answers with a rate, at an address of its own or a given one."""
        address = address or f"0x{rate:040x}"
        # PUSH32 rate, MSTORE at 0, RETURN of 32 bytes: the answer to every call.
        self.transactions.rpc("anvil_setCode", address, f"0x7f{rate:064x}60005260206000f3")
        return address

    def _send(self, to, data, value=0):
        self.transactions.later("sending to " + to, to, data, value)
        return self.transactions.flush()[-1]
