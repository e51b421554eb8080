"""Every operation of the API once, over a real socket: our own plugins on the devnet's real contracts."""

import json
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
from eth_account import Account
from quoteway.evm import erc20
from quoteway.web.app import operations
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.manifest import chain_manifests

for plugin in ("rpc", "tokenlist", "uniswap", "erc4626", "managedvault", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about all of our plugins together")

OWNER, BOT = ACCOUNTS[0], ACCOUNTS[1]


class Place:
    """A running gateway, its first chain's node, and the ids of what stands there."""

    def __init__(self, url, node, key=None):
        self.url, self.node = url, node
        self.headers = {"Content-Type": "application/json"}
        if key is not None:
            self.headers["Authorization"] = f"Bearer {key}"
        chain = chain_manifests()["devnet"]
        self.usdc, self.weth = (chain.token(symbol).address for symbol in ("USDC", "WETH"))
        vaults = {vault.id: f"31337:{vault.address}" for vault in chain.vaults}
        self.vault = f"/v2/vaults/{vaults['steady-usdc']}"
        self.managed = f"/v2/vaults/{vaults['managed-usdc']}"
        pool = next(p for p in chain.pools if p.protocol == "uniswap-v3" and p.pair == "WETH/USDC")
        self.pool = f"/v2/pools/31337:{pool.id}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self.headers, method=method)
        try:
            answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            headers = dict(answer.headers.items())
            return SimpleNamespace(status=answer.status, headers=headers, body=json.loads(answer.read()))

    def first_event(self, path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url + path, timeout=120) as answer:
            assert (answer.status, answer.headers.get_content_type()) == (200, "text/event-stream")
            lines = {}
            while "data" not in lines:
                name, _, value = answer.readline().decode().strip().partition(": ")
                lines[name] = value
        return lines["event"], json.loads(lines["data"])

    def rpc(self, method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.node, body, {"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.loads(answer.read())["result"]

    @property
    def webhook(self):
        (step,) = self.ask("POST", f"/v2/swaps/{self.quoted()}/action").body["steps"]
        url = "https://203.0.113.7/hook"
        return {"url": url, "kind": "transaction", "txId": step["txId"], "hash": "0x" + "ab" * 32}

    def registered(self):
        return self.ask("POST", "/v2/webhooks", self.webhook).body["webhookId"]

    @property
    def swap(self):
        return {
            "network": "devnet",
            "fromToken": "native",
            "toToken": self.usdc,
            "amount": str(10**18),
            "address": OWNER.address,
        }

    @property
    def pair(self):
        return f"network=devnet&fromToken=native&toToken={self.usdc}&amount={10**17}"

    def quoted(self, **more):
        return self.ask("POST", "/v2/swaps/quote", {**self.swap, **more}).body["quoteId"]

    def built(self):
        """The one step of a swap of native coin, and its transaction truly signed."""
        action = self.ask("POST", f"/v2/swaps/{self.quoted()}/action").body
        (step,), (transaction,) = action["steps"], action["transactions"]
        nonce = int(self.rpc("eth_getTransactionCount", OWNER.address, "latest"), 16)
        fees = {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 0}
        filled = {**transaction, **fees, "nonce": nonce, "gas": int(step["gasLimit"], 16)}
        signed = Account.sign_transaction(filled, OWNER.private_key)
        return f"/v2/transactions/{step['txId']}", "0x" + bytes(signed.raw_transaction).hex()

    def succeeds(self, tx_hash):
        """Whether a transaction that is out succeeds, once it is in a block."""
        while (receipt := self.rpc("eth_getTransactionReceipt", tx_hash)) is None:
            time.sleep(0.01)
        return int(receipt["status"], 16) == 1

    def in_pool(self, action):
        return {"action": action, "asset": self.usdc, "amount": str(10**9), "address": OWNER.address}

    def in_vault(self, action):
        return {"action": action, "asset": self.usdc, "amount": str(10**6), "address": OWNER.address}

    @property
    def deployment(self):
        return {
            "network": "devnet",
            "asset": self.usdc,
            "owner": OWNER.address,
            "bot": BOT.address,
            "strategy": "steady-usdc",
        }


def submit(place):
    path, raw = place.built()
    return f"{path}/submit", {"signedPayload": raw}


def submit_hash(place):
    path, raw = place.built()
    tx_hash = place.rpc("eth_sendRawTransaction", raw)
    place.succeeds(tx_hash)
    return f"{path}/submit-hash", {"hash": tx_hash}


def track(place):
    return place.built()[0] + "?hash=0x" + "11" * 32, None


def bridge(place):
    swap = {name: value for name, value in place.swap.items() if name != "network"}
    return "/v2/bridges/quote", swap | {"fromChain": "devnet", "toChain": "devnet-l2", "toToken": "native"}


def bridge_action(place):
    return f"/v2/bridges/{place.ask('POST', *bridge(place)).body['quoteId']}/action", None


def revocation(place):
    """Of an approval that is made before."""
    data = "0x" + erc20.APPROVE.encode([BOT.address, 7]).hex()
    sent = place.rpc("eth_sendTransaction", {"from": OWNER.address, "to": place.usdc, "data": data})
    while place.rpc("eth_getTransactionReceipt", sent) is None:
        time.sleep(0.01)
    granted = [{"token": place.usdc, "spender": BOT.address}]
    body = {"address": OWNER.address, "network": "devnet", "approvals": granted}
    return "/v2/portfolio/approvals/revoke", body


RPC = {"jsonrpc": "2.0", "id": 7, "method": "eth_chainId", "params": []}
WALLET = f"wallet={OWNER.address}"

REQUESTS = {
    "listProviders": lambda place: ("/v2/providers", None),
    "getProviderPerformance": lambda place: ("/v2/providers/uniswap/performance", None),
    "listNetworks": lambda place: ("/v2/networks", None),
    "listTokens": lambda place: ("/v2/tokens?network=devnet", None),
    "getToken": lambda place: (f"/v2/tokens/31337:{place.usdc}", None),
    "createSwapQuote": lambda place: ("/v2/swaps/quote", place.swap),
    "getSwapQuote": lambda place: (f"/v2/swaps/quote/{place.quoted()}", None),
    "createSwapQuotes": lambda place: ("/v2/swaps/quotes", {"quotes": [place.swap, place.swap]}),
    "refreshSwapQuote": lambda place: (
        f"/v2/swaps/{place.quoted(refreshableUntil=int(time.time()) + 3_600)}/refresh",
        None,
    ),
    "getSwapPrice": lambda place: (f"/v2/swaps/price?{place.pair}", None),
    "getSwapDepth": lambda place: (f"/v2/swaps/depth?{place.pair}", None),
    "createSwapAction": lambda place: (f"/v2/swaps/{place.quoted()}/action", None),
    "listBridgeRoutes": lambda place: ("/v2/bridges/routes", None),
    "createBridgeQuote": bridge,
    "createBridgeAction": bridge_action,
    "listPools": lambda place: ("/v2/pools?network=devnet&sort=-tvlUsd", None),
    "getPool": lambda place: (place.pool, None),
    "createPoolQuote": lambda place: (f"{place.pool}/quote", place.in_pool("add")),
    "createPoolAction": lambda place: (f"{place.pool}/action", place.in_pool("add")),
    "getPoolTvl": lambda place: (f"{place.pool}/tvl?interval=1d", None),
    "getPoolVolume": lambda place: (f"{place.pool}/volume?interval=1d", None),
    "getPoolFees": lambda place: (f"{place.pool}/fees?interval=1d", None),
    "getPoolApr": lambda place: (f"{place.pool}/apr?interval=1d", None),
    "listPoolPositions": lambda place: (f"{place.pool}/positions?{WALLET}", None),
    "getPoolLiquidity": lambda place: (f"{place.pool}/liquidity", None),
    "listVaults": lambda place: ("/v2/vaults?network=devnet&sort=-apy", None),
    "getVault": lambda place: (place.vault, None),
    "createVaultDeployQuote": lambda place: ("/v2/vaults/deploy/quote", place.deployment),
    "createVaultDeployAction": lambda place: ("/v2/vaults/deploy/action", place.deployment),
    "createVaultQuote": lambda place: (f"{place.vault}/quote", place.in_vault("deposit")),
    "createVaultAction": lambda place: (f"{place.vault}/action", place.in_vault("deposit")),
    "createVaultManageAction": lambda place: (
        f"{place.managed}/manage/action",
        {"action": "pause", "address": OWNER.address},
    ),
    "createVaultRebalanceAction": lambda place: (
        f"{place.managed}/rebalance/action",
        {"address": BOT.address, "slippageBps": 1},
    ),
    "getVaultTvl": lambda place: (f"{place.vault}/tvl?interval=1d", None),
    "getVaultApy": lambda place: (f"{place.vault}/apy?interval=1d", None),
    "submitTransaction": submit,
    "submitTransactionHash": submit_hash,
    "trackTransaction": track,
    "getPortfolioApprovals": lambda place: (f"/v2/portfolio/approvals?{WALLET}&network=devnet", None),
    "createRevocation": revocation,
    "getPortfolioBalances": lambda place: (f"/v2/portfolio/balances?{WALLET}&network=devnet", None),
    "listBalancesOfWallets": lambda place: (
        "/v2/portfolio/balances",
        {"wallets": [WALLET.partition("=")[2]], "network": "devnet"},
    ),
    "getPortfolioPositions": lambda place: (f"/v2/portfolio/positions?{WALLET}&network=devnet", None),
    "getPortfolioActivity": lambda place: (f"/v2/portfolio/activity?{WALLET}&network=devnet", None),
    "getPortfolioHistory": lambda place: (f"/v2/portfolio/history?{WALLET}&network=devnet&interval=1d", None),
    "getPortfolioPnl": lambda place: (f"/v2/portfolio/pnl?{WALLET}&network=devnet", None),
    "getPrices": lambda place: ("/v2/prices?network=devnet&tokens=native", None),
    "getPriceHistory": lambda place: ("/v2/prices/history?network=devnet&token=native&interval=1h", None),
    "openStream": lambda place: ("/v2/stream?heads=devnet", None),
    "getIndexStatus": lambda place: ("/v2/index/status?network=devnet", None),
    "createWebhook": lambda place: ("/v2/webhooks", place.webhook),
    "listWebhooks": lambda place: ("/v2/webhooks", None),
    "getWebhook": lambda place: (f"/v2/webhooks/{place.registered()}", None),
    "deleteWebhook": lambda place: (f"/v2/webhooks/{place.registered()}", None),
    "callRpc": lambda place: ("/v2/rpc/31337", RPC),
}


@pytest.fixture(scope="module")
def place():
    from quoteway_devnet.demo.server import own_server

    with own_server() as (url, nodes):
        place = Place(url, nodes["devnet"])
        deadline = time.monotonic() + 300
        # A catalog is empty while its only source has not answered in time, as on a busy machine.
        while not place.ask("GET", "/v2/pools?network=devnet&limit=1").body["data"]:
            assert time.monotonic() < deadline, "no source answered the list of pools"
            time.sleep(1)
        # The index process of the server reads the chain beside it.
        for path in (
            f"portfolio/activity?{WALLET}&network=devnet",
            "prices/history?network=devnet&token=native",
        ):
            while (answer := place.ask("GET", f"/v2/{path}")).status != 200:
                assert time.monotonic() < deadline, answer.body
                time.sleep(1)
        yield place


@pytest.fixture(scope="module")
def hooked():
    """A gateway with webhooks, which go to an address for documentation (RFC 5737)."""
    from quoteway_devnet.chains import Devnet
    from quoteway_devnet.demo.server import gateway_over

    key, ring = "4f1c9a07e2d85b36c0a7914ed3f8625b", "8be0d3f7a61c54294f1c9a07e2d85b36c0a7914ed3f8625b"
    settings = {
        "QUOTEWAY_PLUGIN__DEVNET__ENABLED": "true",
        "QUOTEWAY_AUTH__KEYS": '[{name = "bot", key = {env = "BOT_KEY"}}]',
        "QUOTEWAY_QUOTES__KEYS": '[{id = "k1", secret = {env = "RING"}}]',
        "QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "20",
        "QUOTEWAY_STORE__URL": "store.sqlite3",
        "QUOTEWAY_WEBHOOKS__ENABLED": "true",
        "QUOTEWAY_WEBHOOKS__PRIVATE_NETWORKS": '["203.0.113.0/24"]',
    }
    with Devnet.running() as devnet, gateway_over(devnet, **settings, BOT_KEY=key, RING=ring) as url:
        yield Place(url, devnet.urls["devnet"], key)


@pytest.mark.parametrize("operation", operations(), ids=lambda operation: operation.name)
def test_on_real_contracts(request, contract, operation):
    place = request.getfixturevalue("hooked" if operation.needs_key else "place")
    path, body = REQUESTS[operation.name](place)
    if operation.streams:
        name, data = place.first_event(path)
        assert name == "head"
        contract.check_data("Head", data)
        return
    answer = place.ask(operation.method, path, body)
    assert answer.status == operation.status, answer.body
    told = contract.check(operation.name, answer)
    if operation.name == "listWebhooks":
        assert isinstance(told["data"], list)
        return
    if operation.status == 201 and not operation.needs_key:
        assert told["simulation"]["status"] == "success"
    if operation.name == "submitTransaction":
        assert place.succeeds(told["hash"])
    if operation.name == "trackTransaction":
        assert told["status"] == "unknown"
    if operation.name == "submitTransactionHash":
        assert (told["match"], told["differences"], told["status"]) == ("match", [], "confirmed")
        assert told["realized"]["vsQuoteBps"] == 0
    if operation.name.startswith("list") and operation.name != "listPoolPositions":
        assert told["data"]
