"""Records the requests and answers that the OpenAPI document shows as examples, from a running gateway.

``python docs/record_examples.py`` starts the embedded default over two new local chains, asks every
operation, sends the transactions of its actions, and writes what was sent and answered. Nothing of it is
written by hand; long lists are cut. Run it when an operation, a member or a request of this file changes, and
``make docs`` after it.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from example_recorder import CHAINS, Json, Recorder
from quoteway_devnet.chains import Devnet
from quoteway_devnet.demo.server import gateway_over, own_server
from quoteway_devnet.relayer import Relayer

EXAMPLES = Path(__file__).resolve().parent.parent / "framework/quoteway/web/http/openapi_examples.json"
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The first account of a local chain, which signs for whoever asks."""
BOT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
DAY_S = 86_400
KEY = secrets.token_hex(32)
WEBHOOKS = {
    "QUOTEWAY_PLUGIN__DEVNET__ENABLED": "true",
    "QUOTEWAY_AUTH__KEYS": '[{name = "treasury", key = {env = "EXAMPLES_KEY"}}]',
    "QUOTEWAY_QUOTES__KEYS": '[{id = "k1", secret = {env = "EXAMPLES_RING"}}]',
    "QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "20",
    "QUOTEWAY_LIMITS__ENABLED": "false",
    "QUOTEWAY_STORE__URL": "store.sqlite3",
    "QUOTEWAY_WEBHOOKS__ENABLED": "true",
    # RFC 5737: an address for documentation, which leads nowhere.
    "QUOTEWAY_WEBHOOKS__PRIVATE_NETWORKS": '["203.0.113.0/24"]',
    "EXAMPLES_KEY": KEY,
    "EXAMPLES_RING": secrets.token_hex(32),
}
"""The settings of a gateway with webhooks, and the key of its caller."""
RECEIVER = "https://203.0.113.7/quoteway"


def record(url: str, nodes: Mapping[str, str]) -> dict[str, dict[str, Json]]:
    """Returns the request, the answer and an error of the operations of a gateway over new local chains."""
    asked = Recorder(url, nodes)
    asked.until(lambda answer: all(row["state"] == "following" for row in answer["data"]), "getIndexStatus")
    tokens = _catalogs(asked)
    spender = _swaps(asked, tokens)
    _pools(asked, tokens)
    _vaults(asked, tokens)
    _transfers(asked, tokens)
    _wallet(asked, tokens, spender)
    _rpc(asked)
    return asked.kept


def _catalogs(asked: Recorder) -> Mapping[str, str]:
    """Records lists and prices. Returns the addresses of tokens on the first chain, by symbol."""
    rows = asked.until(lambda answer: answer["data"], "listTokens", query={"network": "devnet", "limit": 200})
    tokens = {
        row["symbol"]: contract["address"]
        for row in rows["data"]
        for contract in row["contracts"]
        if contract["chainId"] == CHAINS["devnet"]
    }
    asked.keep("openStream", query={"heads": "devnet"})
    asked.refuse("openStream", 422, query={"heads": "devnet-l3"})
    asked.keep("getIndexStatus")
    asked.keep("listNetworks", query={"limit": 1})
    asked.keep("listProviders", query={"limit": 1})
    asked.keep("listTokens", query={"network": "devnet", "query": "USDC", "limit": 1})
    asked.keep("getToken", path={"id": rows["data"][0]["id"]})
    asked.refuse("getToken", 404, path={"id": "no-such-token"})
    for operation in ("listNetworks", "listProviders", "listTokens"):
        asked.refuse(operation, 422, query={"limit": 1000})
    prices = {"network": "devnet", "tokens": tokens["WETH"]}
    asked.until(lambda answer: answer["data"][0]["priceUsd"], "getPrices", query=prices)
    asked.keep("getPrices", query=prices)
    asked.refuse("getPrices", 422, query={"network": "devnet"})
    now = int(time.time())
    past = {
        "network": "devnet",
        "token": tokens["WETH"],
        "from": now - 3 * DAY_S,
        "to": now,
        "interval": "1d",
    }
    asked.until(lambda answer: answer["coverage"], "getPriceHistory", query=past)
    asked.keep("getPriceHistory", query=past)
    asked.refuse("getPriceHistory", 422, query=past | {"interval": "1m"})
    return tokens


def _swaps(asked: Recorder, tokens: Mapping[str, str]) -> str:
    """Records swaps and what became of one. Returns the spender of its approval."""
    pair = {"network": "devnet", "fromToken": tokens["USDC"], "toToken": tokens["WETH"]}
    amount, body = "1000000000", {**pair, "amount": "1000000000", "address": WALLET, "slippageBps": 50}
    asked.keep("getSwapPrice", query={**pair, "amount": amount})
    asked.keep("getSwapDepth", query={**pair, "amount": amount, "rungs": 2})
    for operation in ("getSwapPrice", "getSwapDepth"):
        asked.refuse(operation, 422, query={**pair, "amount": "0"})
    quote = asked.keep("createSwapQuote", body=body)
    asked.refuse("createSwapQuote", 422, body={**body, "amount": "0"})
    same = {**body, "toToken": body["fromToken"]}  # its schema takes it, and its result is an error
    asked.keep("createSwapQuotes", body={"quotes": [body, same]})
    asked.refuse("createSwapQuotes", 422, body={"quotes": []})
    token = {"quoteId": quote["quoteId"]}
    asked.keep("getSwapQuote", path=token)
    lasting = asked.ask("createSwapQuote", body={**body, "refreshableUntil": int(time.time()) + DAY_S // 2})
    asked.keep("refreshSwapQuote", path={"quoteId": lasting["quoteId"]}, body={})
    action = asked.keep("createSwapAction", path=token, body={})
    for operation in ("getSwapQuote", "refreshSwapQuote", "createSwapAction", "createBridgeAction"):
        sent: dict[str, Json] = {} if operation == "getSwapQuote" else {"body": {}}
        asked.refuse(operation, 404, path={"quoteId": "not-a-quote"}, **sent)
    raw = asked.sign(action)
    submitted = {"txId": action["steps"][0]["txId"]}
    asked.keep("submitTransaction", path=submitted, body={"signedPayload": raw})
    asked.refuse("submitTransaction", 422, path=submitted, body={"signedPayload": "0x12"})
    sent = {"path": {"txId": action["steps"][-1]["txId"]}, "body": {"hash": asked.execute(action)[-1]}}
    asked.keep("submitTransactionHash", **sent)
    asked.refuse("submitTransactionHash", 422, path=sent["path"], body={"hash": "0x12"})
    asked.keep("getProviderPerformance", path={"id": quote["provider"]})
    asked.refuse("getProviderPerformance", 404, path={"id": "nobody"})
    return str(quote["approvals"][0]["spender"])


def _pools(asked: Recorder, tokens: Mapping[str, str]) -> None:
    listed = {"network": "devnet", "protocol": "uniswap-v3", "token": "WETH", "sort": "-tvlUsd", "limit": 1}
    pool = asked.until(lambda answer: answer["data"], "listPools", query=listed)["data"][0]
    asked.keep("listPools", query=listed)
    asked.refuse("listPools", 422, query={"sort": "size"})
    place, unknown = {"poolId": pool["id"]}, {"poolId": f"31337:{WALLET}"}
    asked.keep("getPool", path=place)
    asked.refuse("getPool", 404, path=unknown)
    add = {"action": "add", "address": WALLET, "asset": tokens["WETH"], "amount": str(10**17)}
    asked.keep("createPoolQuote", path=place, body=add)
    asked.execute(asked.ask("createPoolAction", path=place, body=add))
    # The shares of a v2 pool can be permitted by a signature. TAX cannot be added to one.
    pairs = asked.ask("listPools", query={**listed, "protocol": "uniswap-v2", "limit": 10})["data"]
    pair = next(each for each in pairs if "TAX" not in {token["symbol"] for token in each["tokens"]})
    shared = {"poolId": pair["id"]}
    asked.execute(asked.ask("createPoolAction", path=shared, body=add))
    remove = add | {"action": "remove", "amount": str(10**16), "offerPermits": True}
    asked.keep("createPoolAction", path=shared, body=remove)
    for operation in ("createPoolQuote", "createPoolAction"):
        asked.refuse(operation, 404, path=unknown, body=add)
    wallet = {"wallet": WALLET, "limit": 1}
    asked.until(lambda answer: answer["data"], "listPoolPositions", path=place, query=wallet)
    asked.keep("listPoolPositions", path=place, query=wallet)
    asked.refuse("listPoolPositions", 422, path=place)
    asked.keep("getPoolLiquidity", path=place)
    asked.refuse("getPoolLiquidity", 404, path=unknown)
    asked.refuse("getPoolLiquidity", 503, path=shared)
    _series(asked, ("getPoolTvl", "getPoolVolume", "getPoolFees", "getPoolApr"), place, unknown)


def _series(
    asked: Recorder, operations: tuple[str, ...], place: Mapping[str, str], unknown: Mapping[str, str]
) -> None:
    now = int(time.time())
    query = {"from": now - 3 * DAY_S, "to": now, "interval": "1d"}
    for operation in operations:
        done = _has_values if operation.startswith("getPool") else _is_read
        asked.until(done, operation, path=place, query=query)
        asked.keep(operation, path=place, query=query)
        asked.refuse(operation, 404, path=unknown)


def _is_read(series: Json) -> bool:
    return bool(series["reason"] is None)


def _has_values(series: Json) -> bool:
    return _is_read(series) and any(point["value"] is not None for point in series["points"])


def _vaults(asked: Recorder, tokens: Mapping[str, str]) -> None:
    listed = {"network": "devnet", "strategy": "steady-usdc", "limit": 1}
    vault = asked.until(lambda answer: answer["data"], "listVaults", query=listed)["data"][0]
    asked.keep("listVaults", query=listed)
    asked.refuse("listVaults", 422, query={"sort": "size"})
    place, unknown = {"vaultId": vault["id"]}, {"vaultId": f"31337:{WALLET}"}
    asked.keep("getVault", path=place)
    asked.refuse("getVault", 404, path=unknown)
    deposit = {"action": "deposit", "address": WALLET, "asset": tokens["USDC"], "amount": "1000000000"}
    asked.keep("createVaultQuote", path=place, body=deposit)
    asked.execute(asked.keep("createVaultAction", path=place, body=deposit))
    for operation in ("createVaultQuote", "createVaultAction"):
        asked.refuse(operation, 404, path=unknown, body=deposit)
    _series(asked, ("getVaultTvl", "getVaultApy"), place, unknown)
    deploy = {
        "network": "devnet",
        "asset": tokens["USDC"],
        "owner": WALLET,
        "bot": BOT,
        "strategy": "steady-usdc",
    }
    quote = asked.keep("createVaultDeployQuote", body=deploy)
    asked.execute(asked.keep("createVaultDeployAction", body=deploy | {"quoteId": quote["quoteId"]}))
    for operation in ("createVaultDeployQuote", "createVaultDeployAction"):
        asked.refuse(operation, 422, body={"network": "devnet"})
    own = {"vaultId": f"31337:{quote['predictedAddress']}"}
    manage = {"action": "setCap", "address": WALLET, "amount": "5000000000"}
    asked.execute(asked.keep("createVaultManageAction", path=own, body=manage))
    asked.refuse("createVaultManageAction", 422, path=own, body=manage | {"address": BOT})
    asked.execute(asked.ask("createVaultAction", path=own, body=deposit))
    rebalance = {"address": WALLET, "strategy": "steady-usdc", "slippageBps": 1}
    asked.keep("createVaultRebalanceAction", path=own, body=rebalance)
    asked.refuse("createVaultRebalanceAction", 404, path=unknown, body=rebalance)


def _transfers(asked: Recorder, tokens: Mapping[str, str]) -> None:
    ends = {"fromChain": "devnet", "toChain": "devnet-l2"}
    rows = asked.until(lambda answer: answer["data"], "listBridgeRoutes", query={**ends, "limit": 200})[
        "data"
    ]
    asked.keep("listBridgeRoutes", query={**ends, "limit": 1})
    asked.refuse("listBridgeRoutes", 422, query={"fromChain": "nowhere"})
    route = next(row for row in rows if row["fromToken"]["address"] == tokens["USDC"])
    body = {
        **ends,
        "fromToken": tokens["USDC"],
        "toToken": route["toToken"]["address"],
        "amount": "100000000",
        "address": WALLET,
    }
    quote = asked.keep("createBridgeQuote", body=body)
    asked.refuse("createBridgeQuote", 422, body=body | {"toChain": "devnet"})
    action = asked.keep("createBridgeAction", path={"quoteId": quote["quoteId"]}, body={})
    sent = asked.execute(action)[-1]
    path, query = {"txId": action["steps"][-1]["txId"]}, {"hash": sent}
    asked.until(lambda answer: answer["status"] == "filled", "trackTransaction", path=path, query=query)
    asked.keep("trackTransaction", path=path, query=query)
    asked.refuse("trackTransaction", 404, path={"txId": "not-a-transaction"}, query=query)


def _wallet(asked: Recorder, tokens: Mapping[str, str], spender: str) -> None:
    wallet, on = {"wallet": WALLET}, {"wallet": WALLET, "network": "devnet"}
    held = {**on, "tokens": tokens["USDC"], "includeNative": True}
    asked.until(lambda answer: answer["totalUsd"], "getPortfolioBalances", query=held)
    asked.keep("getPortfolioBalances", query=held)
    body = {"wallets": [WALLET, BOT], "network": "devnet", "tokens": [tokens["USDC"]]}
    asked.keep("listBalancesOfWallets", body=body)
    asked.refuse("listBalancesOfWallets", 422, body={"wallets": []})
    asked.until(lambda answer: answer["data"], "getPortfolioPositions", query={**on, "limit": 1})
    asked.keep("getPortfolioPositions", query={**on, "limit": 1})
    # approve(spender, 1), which a wallet sends by itself.
    data = f"0x095ea7b3{spender[2:].lower():0>64}{1:064x}"
    allow = {"to": tokens["USDC"], "data": data, "value": "0x0", "chainId": CHAINS["devnet"]}
    steps = [{"gasLimit": hex(100_000), "description": "approve"}]
    asked.execute({"chainId": CHAINS["devnet"], "from": WALLET, "transactions": [allow], "steps": steps})
    asked.until(lambda answer: answer["data"], "getPortfolioApprovals", query=on)
    asked.keep("getPortfolioApprovals", query=on)
    revoke = {"address": WALLET, "network": "devnet"}
    asked.keep(
        "createRevocation", body={**revoke, "approvals": [{"token": tokens["USDC"], "spender": spender}]}
    )
    asked.refuse("createRevocation", 422, body={**revoke, "approvals": []})
    asked.until(lambda answer: answer["data"], "getPortfolioActivity", query={**on, "limit": 1})
    asked.keep("getPortfolioActivity", query={**on, "limit": 1})
    now = int(time.time())
    past = {**on, "from": now - 3 * DAY_S, "to": now, "interval": "1d"}
    asked.until(lambda answer: answer["tokens"], "getPortfolioHistory", query=past)
    asked.keep("getPortfolioHistory", query=past)
    asked.until(lambda answer: any(row["openedAt"] for row in answer["data"]), "getPortfolioPnl", query=on)
    asked.keep("getPortfolioPnl", query=on)
    for operation in ("getPortfolioBalances", "getPortfolioPositions", "getPortfolioApprovals"):
        asked.refuse(operation, 422, query={"wallet": "0x12"})
    for operation in ("getPortfolioActivity", "getPortfolioHistory", "getPortfolioPnl"):
        asked.refuse(operation, 422, query=wallet if operation != "getPortfolioPnl" else {})


def _rpc(asked: Recorder) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
    asked.keep("callRpc", path={"chainId": "31337"}, body=call)
    asked.refuse("callRpc", 400, path={"chainId": "31337"}, body=call | {"jsonrpc": "1.0"})


def record_webhooks(asked: Recorder) -> dict[str, dict[str, Json]]:
    """Returns those of the operations of webhooks, of a gateway with them."""
    ends = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": "native", "toToken": "native"}
    quote = asked.ask("createBridgeQuote", body={**ends, "amount": str(10**17), "address": WALLET})
    action = asked.ask("createBridgeAction", path={"quoteId": quote["quoteId"]}, body={})
    body = {"url": RECEIVER, "kind": "transfer", "txId": action["steps"][-1]["txId"]}
    body["hash"] = asked.execute(action)[-1]
    made = asked.keep("createWebhook", body=body)
    asked.refuse("createWebhook", 422, body=body | {"url": "https://localhost/quoteway"})
    path = {"webhookId": made["webhookId"]}
    asked.keep("listWebhooks")
    authorization = asked.headers.pop("Authorization")
    asked.refuse("listWebhooks", 401)
    asked.headers["Authorization"] = authorization
    asked.keep("getWebhook", path=path)
    asked.keep("deleteWebhook", path=path)
    for operation in ("getWebhook", "deleteWebhook"):
        asked.refuse(operation, 404, path=path)
    return asked.kept


def run() -> dict[str, dict[str, Json]]:
    """Returns what is recorded of every operation, from gateways that it starts."""
    with own_server() as (url, nodes):
        kept = record(url, nodes)
        operations = list(Recorder(url, nodes).operations)
    with (
        Devnet.running() as devnet,
        Relayer.running(devnet) as relayer,
        gateway_over(devnet, **WEBHOOKS, QUOTEWAY_PLUGIN__DEVNET__RELAYER_PORT=str(relayer.port)) as url,
    ):
        kept |= record_webhooks(Recorder(url, devnet.urls, KEY))
    left = sorted(set(operations) - kept.keys())
    if left:
        raise RuntimeError(f"nothing is recorded of {', '.join(left)}")
    return {name: kept[name] for name in operations}


if __name__ == "__main__":
    EXAMPLES.write_text(json.dumps(run(), indent=1, ensure_ascii=False) + "\n")
