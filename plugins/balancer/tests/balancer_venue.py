"""Balancer v2 on the devnet, with pools of the devnet's tokens, and a gateway that routes them."""

import asyncio
import contextlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import quoteway_balancer
import quoteway_devnet.plugin
import quoteway_router
import quoteway_rpc
import quoteway_uniswap
from quoteway import NATIVE, Network
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig
from quoteway.config.network import NetworkConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.address import checksum
from quoteway.networks import Networks
from quoteway.testing.serving import served
from quoteway_balancer.event_sources import event_sources
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.packages import prepare, prepare_balancer
from quoteway_devnet.transactions import DEPLOYER, Transactions
from quoteway_router.swaps import splitting_of

sys.path.insert(0, str(Path(__file__).parents[2] / "amm" / "tests"))
from balancer_chain import BalancerChain

ONE, PERCENT = 10**18, 10**16
SENDER, RECIPIENT = ACCOUNTS[5].address, "0x3333333333333333333333333333333333333333"
PROVIDER = "balancer-routes"
WEIGHTED, STABLE = "balancer-v2-weighted", "balancer-v2-composable-stable"
ODD_RATE = 1_073_737_373_737_373_737
RATES_THAT_FAIL = [
    "0x5b600056",  # uses all its gas
    "0xfe",
    "0x",
    "0x60006000f3",
    "0x5f5f5260205ff3",  # a rate of 0
    "0x5f195f5260205ff3",  # the greatest number
    "0x6202000060005ff3",  # 128 KiB
    "0x5f195f5260405ff3",
]
"""The code of rate providers whose pool cannot be traded with."""


class OnDevnet:
    """What the venues of both versions have of the devnet: its tokens by symbol, and its deployer."""

    def of_devnet(self, devnet, rpc, bytecode):
        """Takes what a chain of contracts needs, and returns it: port, transactions, wrapped coin, tokens."""
        self.devnet, self.manifest = devnet, devnet.chains["devnet"]
        self.pools = {}
        transactions = Transactions(rpc, prepare().bytecode, bytecode)
        self._adopt_nonce(transactions)
        tokens = [(row.address, row.decimals) for row in self.manifest.tokens]
        return devnet.ports["devnet"], transactions, self.manifest.contracts["WETH9"], tokens

    @staticmethod
    def _adopt_nonce(transactions):
        """The devnet was made by the same account, and a test may have gone back to an earlier state."""
        transactions._nonce = int(transactions.rpc("eth_getTransactionCount", DEPLOYER, "latest"), 16)

    @contextlib.contextmanager
    def sending(self):
        """Lets the deployer send, after the set-up has ended."""
        self._adopt_nonce(self.transactions)
        self.transactions.rpc("evm_setAutomine", False)
        self.transactions.rpc("anvil_impersonateAccount", DEPLOYER)
        yield
        self.transactions.close()

    def token(self, symbol):
        return NATIVE if symbol == "ETH" else self.manifest.token(symbol).address

    def amount(self, symbol, dollars):
        row = self.manifest.token("WETH" if symbol == "ETH" else symbol)
        return int(dollars / float(row.price_usd) * 10**row.decimals)

    def rows(self, symbols):
        """Returns the tokens (address, decimals) and the symbols in the order that the Vault wants."""
        rows = [(self.manifest.token(symbol), symbol) for symbol in symbols]
        rows.sort(key=lambda row: int(row[0].address, 16))
        return [(row.address, row.decimals) for row, _ in rows], [symbol for _, symbol in rows]


class Venue(OnDevnet, BalancerChain):
    """The Vault on the devnet with some pools: weighted of two and three tokens, stable with rates."""

    def __init__(self, devnet, rpc):
        super().__init__(*self.of_devnet(devnet, rpc, prepare_balancer()))

    def _filled(self, name, pool, balances):
        pool = replace(pool, balances=tuple(balances))
        self.join(pool)
        self.pools[name] = pool
        return pool

    def add_weighted(self, name, shares, dollars, fee, first_release=False):
        """Makes a pool of symbols with their shares in percent, worth so many dollars."""
        tokens, symbols = self.rows(shares)
        pool = self.weighted(tokens, [shares[s] * PERCENT for s in symbols], fee, first_release)
        return self._filled(name, pool, [self.amount(s, dollars * shares[s] / 100) for s in symbols])

    def add_stable(self, name, rates, dollars, amplification=200, fee=4 * 10**14, cached_s=0):
        """Makes a pool of symbols with the rates of their providers (0: none), so many dollars of each."""
        tokens, symbols = self.rows(rates)
        pool = self.composable_stable(tokens, amplification, fee, [rates[s] for s in symbols], cached_s)
        return self._filled(name, pool, [self.amount(s, dollars) for s in symbols])

    def fill(self):
        self.add_weighted("80/20", {"MKR": 80, "WETH": 20}, 3_000_000, 3 * 10**15)
        self.add_weighted("three", {"WETH": 50, "UNI": 30, "LINK": 20}, 2_000_000, 2 * 10**15)
        self.add_weighted("50/50", {"WETH": 50, "USDC": 50}, 8_000_000, 10**15)
        self.add_weighted("first", {"WETH": 60, "DAI": 40}, 5_000_000, 123_456_789_012_345, True)
        self.add_weighted("direct", {"MKR": 50, "USDC": 50}, 1_000_000, 3 * 10**15)
        self.add_stable("three stable", {"USDC": ONE, "DAI": 0, "USDT": 0}, 4_000_000)
        self.add_stable("two stable", {"wstETH": ODD_RATE, "WETH": 0}, 6_000_000, 50)

    @property
    def contracts(self):
        """The contracts whose calls the core reads."""
        return {checksum(self.vault): "balancer.vault"}

    def row(self, **more):
        factories = {
            checksum(self.weighted_v1): "weighted-2021",
            checksum(self.weighted_v3): "weighted",
            checksum(self.stable): "composable-stable",
        }
        given = {"network": "devnet", "vault": checksum(self.vault), "factories": factories, "since_block": 0}
        return given | more


class Managed:
    """A pool without code, whose tokens are all its manager's: both are the deployer.

    The Vault asks nothing of a pool that nobody joins.
    """

    manager = True

    def __init__(self, venue):
        rows, _ = venue.rows(["WETH", "DAI", "LINK"])
        self.tokens = tuple(address for address, _ in rows)
        receipt = venue._send(venue.vault, encode_call("registerPool(uint8)", [0]))
        self.id = receipt["logs"][0]["topics"][1]
        self.register(venue, self.tokens[:2])

    def register(self, venue, tokens):
        managers = [DEPLOYER] * len(tokens)
        signature = "registerTokens(bytes32,address[],address[])"
        order = [bytes.fromhex(self.id[2:]), tokens, managers]
        venue._send(venue.vault, encode_call(signature, order))

    def add_token(self, venue):
        self.register(venue, self.tokens[2:])

    def managing(self, token, amount):
        """Returns the calldata that tells the Vault what the manager has of a token."""
        update = 2, bytes.fromhex(self.id[2:]), token, amount
        return encode_call("managePoolBalance((uint8,bytes32,address,uint256)[])", [[update]])

    def update(self, venue, token, amount):
        venue._send(venue.vault, self.managing(token, amount))


@contextlib.contextmanager
def venue_on(devnet, fill=True, make=Venue):
    """Yields the venue on a devnet, which is restored afterwards."""
    with devnet.restored(), devnet.rpc("devnet") as rpc:
        made = make(devnet, rpc)
        if fill:
            made.fill()
        made.transactions.close()
        # A new account costs 25,000 gas, which no quote can know.
        rpc("anvil_setBalance", RECIPIENT, "0x1")
        yield made


def event_sources_of(rows, network="devnet", chain_id=31337):
    """Returns the event sources of rows of one network."""
    known = Networks([Network(network, chain_id, network, wrapped_native="0x" + "11" * 20)])
    return event_sources(SimpleNamespace(networks=known, settings={"deployments": rows}))


def plugins():
    return {
        "devnet": quoteway_devnet.plugin,
        "rpc": quoteway_rpc,
        "uniswap": quoteway_uniswap,
        "router": quoteway_router,
        "balancer": quoteway_balancer,
    }


def sections(venue, processes=0, **row):
    ports = {"port": venue.devnet.ports["devnet"], "l2_port": venue.devnet.ports["devnet-l2"]}
    return {
        "devnet": {"enabled": True, "start": False, **ports},
        "uniswap": {"solver_processes": 0},
        "router": {"solver_processes": processes},
        "balancer": {"deployments": [venue.row(**row)]},
    }


def networks(venue):
    return {"devnet": NetworkConfig(contracts=venue.contracts)}


def serve(venue, processes=0, **row):
    """Serves a gateway over HTTP, with limits that no test meets."""
    limits = LimitsConfig(quotes="100000/minute", catalog="100000/minute", rpc="100000/minute")
    config = Config(
        server=replace(ServerConfig(), port=0),
        limits=limits,
        quotes=QuotesConfig(competition_timeout_s=30.0),
        networks=networks(venue),
        plugin_sections=sections(venue, processes, **row),
    )
    return served(plugins(), config)


@contextlib.asynccontextmanager
async def serve_with_solver(venue, monkeypatch):
    """Serves a gateway whose solver is ready, and takes its time."""
    # A busy machine solves slowly, not wrongly.
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    async with serve(venue, processes=1) as api:
        (entry,) = (entry for entry in api.gateway.registry.plugins if entry.name == "router")
        async with asyncio.timeout(120):
            while not splitting_of(entry.context).solvers._idle:
                await asyncio.sleep(0.05)
        yield api


def body_of(venue, sold, bought, amount, **more):
    return {
        "network": "devnet",
        "fromToken": venue.token(sold),
        "toToken": venue.token(bought),
        "amount": str(amount),
        "address": SENDER,
        "slippageBps": 50,
        "protocols": [PROVIDER],
        "acknowledge": ["high_price_impact"],
    } | more


def dollars_between(rng, least, most):
    """Returns an amount of any size, all sizes alike."""
    return least * (most / least) ** rng.random()


@dataclass(frozen=True)
class Done:
    """An executed swap: what was quoted and received, the route's families, and gas."""

    quote: dict
    action: dict
    quoted: int
    received: int
    spent: int
    hops: list
    gas_told: int
    gas_used: int

    @property
    def families(self):
        return set(self.hops)


async def executed(api, venue, body):
    """Quotes over HTTP, sends the action's transactions as a wallet does, and compares balances."""
    answer = await api.post("/v2/swaps/quote", body)
    assert answer.status == 200, answer.body.get("error")
    quote = answer.body
    action = await api.post(f"/v2/swaps/{quote['quoteId']}/action", None)
    assert action.status == 201, action.body.get("error")
    recipient = body.get("toAddress", SENDER)
    with venue.devnet.rpc("devnet") as rpc:
        before = balance(rpc, body["toToken"], recipient), balance(rpc, body["fromToken"], SENDER)
        receipts = [send(rpc, each) for each in action.body["transactions"]]
        after = balance(rpc, body["toToken"], recipient), balance(rpc, body["fromToken"], SENDER)
    fees = sum(int(each["gasUsed"], 16) * int(each["effectiveGasPrice"], 16) for each in receipts)
    spent = before[1] - after[1] - (fees if body["fromToken"] == NATIVE else 0)
    kept = fees if (body["toToken"], recipient) == (NATIVE, SENDER) else 0
    hops = [hop for path in quote["route"]["paths"] for hop in path["hops"]]
    return Done(
        quote,
        action.body,
        int(quote["toAmount"]),
        after[0] - before[0] + kept,
        spent,
        [hop["protocol"] for hop in hops],
        int(quote["gas"]["units"]),
        int(receipts[-1]["gasUsed"], 16),
    )


def send(rpc, transaction):
    rpc("anvil_impersonateAccount", SENDER)
    members = {name: transaction[name] for name in ("to", "data", "value")}
    receipt = rpc.send({"from": SENDER, "gas": hex(3_000_000), **members})
    assert receipt["status"] == "0x1", receipt
    return receipt


def balance(rpc, token, account):
    if token == NATIVE:
        return int(rpc("eth_getBalance", account, "latest"), 16)
    data = "0x" + encode_call("balanceOf(address)", [account]).hex()
    return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)


def pool_ids(quote):
    """Returns the pools of a quote's route, in order."""
    return [hop["pool"] for path in quote["route"]["paths"] for hop in path["hops"]]


async def pools_are_excluded(api, venue, body):
    """Asserts that routes of MKR for WETH use the pools that the request allows."""
    best, other = venue.pools["80/20"].id, venue.pools["direct"].id
    done = await executed(api, venue, body | {"maxHops": 1})
    assert pool_ids(done.quote) == [best]
    done = await executed(api, venue, body | {"excludePools": [f"31337:{best}"]})
    assert pool_ids(done.quote)[0] == other
    assert best not in pool_ids(done.quote)
    assert done.received == done.quoted
    done = await executed(api, venue, body | {"pools": [f"31337:{best}"], "maxLegs": 1})
    assert pool_ids(done.quote) == [best]
