"""Runs the scenarios of pools, vaults, transfers and the portfolio, as any client would."""

import time
from collections.abc import Iterator, Mapping

from quoteway_devnet.demo.checks import check_portfolio, check_submit_hash
from quoteway_devnet.demo.errors import DemoError, RefusedError
from quoteway_devnet.demo.market import PART_OF_BALANCE, Market, hops_of
from quoteway_devnet.demo.scenarios import (
    ManagedVaultScenario,
    OperationScenario,
    PoolScenario,
    PortfolioScenario,
    SubmitHashScenario,
    TransferScenario,
    VaultScenario,
)
from quoteway_devnet.demo.session import Answer, OperationResult, Session, listed
from quoteway_devnet.demo.transfers import transfer

_CATALOG_POLL_S = 1.0
_CATALOG_TIMEOUT_S = 20.0
_USUAL = {"plain", "wrapped", "native", "no_return"}
_TRADES_ADDED = 100
"""Liquidity to add, in multiples of a trade: enough to earn a visible part of its fee."""


class OperationRunner:
    """Runs scenarios on one network; ``sessions`` are those of all networks."""

    def __init__(self, session: Session, market: Market, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions
        self._session = session
        self._market = market
        self._wallet = session.wallet
        self._slug = session.node.slug

    def run(self, scenario: OperationScenario) -> Iterator[OperationResult]:
        """Yield the result of every action of a scenario. Raises DemoError."""
        match scenario:
            case PoolScenario():
                yield from self._pool(scenario)
            case VaultScenario():
                yield from self._vault(scenario)
            case ManagedVaultScenario():
                yield from self._managed_vault(scenario)
            case SubmitHashScenario():
                yield check_submit_hash(self._session, self._listed_vault(scenario.strategy))
            case TransferScenario():
                yield transfer(self._sessions, scenario)
            case PortfolioScenario():
                yield check_portfolio(self._session)

    # --- pools --------------------------------------------------------------------------------------------

    def _pool(self, scenario: PoolScenario) -> Iterator[OperationResult]:
        pool, trade = self._traded_pool(scenario.protocol)
        path = f"/v2/pools/{pool['id']}"
        kind = scenario.protocol.removeprefix("uniswap-")
        self._session.reporter.say(f"   pool      {pool['pair']}, {pool['id']}")
        asset = trade["fromToken"]
        before = {row["positionId"] for row in self._positions(path)}
        position: Answer = {}
        for act in scenario.acts:
            title = f"{kind} {act}"
            body: Answer = {"action": act.split()[0], "address": self._wallet.address}
            if position.get("kind") == "nft":
                body["positionId"] = position["positionId"]
            match act:
                case "trade":
                    yield self._session.swap(title, trade)
                case "add":
                    amount = str(_TRADES_ADDED * int(trade["amount"]))
                    yield self._session.operate(title, path, body | {"asset": asset, "amount": amount})
                case "collect":
                    if not any(int(leg["amount"]) for leg in position["uncollectedFees"]):
                        self._session.reporter.say("   collect   nothing: no fees accrued")
                        continue
                    yield self._session.operate(title, path, body)
                case "remove half":
                    held = next(leg for leg in position["amounts"] if leg["token"]["address"] == asset)
                    half = str(int(held["amount"]) // 2)
                    yield self._session.operate(title, path, body | {"asset": asset, "amount": half})
                case "remove all":
                    yield self._session.operate(title, path, body | {"asset": asset, "amount": "max"})
            rows = self._positions(path)
            # Fungible shares stay one position when liquidity is added.
            position = next((r for r in rows if r["positionId"] not in before or r["kind"] != "nft"), {})
            self._session.reporter.position(position)

    def _traded_pool(self, protocol: str) -> tuple[Answer, Answer]:
        """Return the deepest pool that is the best route of its own pair, and a trade in it."""
        for pool in self._listed(f"/v2/pools?network={self._slug}&protocol={protocol}&sort=-tvlUsd"):
            # Sell the token with more decimals: its fee is never rounded to 0.
            finest = sorted(pool["tokens"], key=lambda token: -int(token["decimals"]))
            sold, bought = (token["address"] for token in finest)
            known = (self._market.tokens.get(address) for address in (sold, bought))
            if not all(token is not None and token.kind in _USUAL for token in known):
                continue
            body = {
                "network": self._slug,
                "fromToken": sold,
                "toToken": bought,
                "amount": str(self._wallet.balance(sold) // PART_OF_BALANCE),
                "address": self._wallet.address,
            }
            try:
                hops = hops_of(self._session.gateway.post("/v2/swaps/quote", body))
            except RefusedError as refusal:
                if refusal.reason not in ("no_route", "amount_too_low"):
                    raise
                continue
            if [hop["pool"].lower() for hop in hops] == [pool["id"].partition(":")[2].lower()]:
                return pool, body
        raise DemoError(f"No pool of {protocol} is the best route of its own pair; restart the devnet.")

    def _positions(self, path: str) -> list[Answer]:
        """Return the wallet's positions in a pool at the newest block."""
        query = f"{path}/positions?wallet={self._wallet.address}&limit=200"
        self._session.await_head()
        return list(self._session.gateway.pages(query))

    # --- vaults -------------------------------------------------------------------------------------------

    def _vault(self, scenario: VaultScenario) -> Iterator[OperationResult]:
        vault = self._listed_vault(scenario.strategy)
        path = f"/v2/vaults/{vault['id']}"
        apy = "unknown" if vault["apy"] is None else f"{100 * vault['apy']:.2f} %"
        self._session.reporter.say(f"   vault     {vault['name']} of {vault['asset']['symbol']}, APY {apy}")
        asset = vault["asset"]["address"]
        deposit = {
            "action": "deposit",
            "address": self._wallet.address,
            "asset": asset,
            "amount": str(self._wallet.balance(asset) // PART_OF_BALANCE),
        }
        yield self._session.operate("vault deposit", path, deposit)
        redeem = deposit | {"action": "redeem", "asset": vault["share"]["address"], "amount": "max"}
        yield self._session.operate("vault redeem max", path, redeem)
        if left := self._wallet.balance(vault["share"]["address"]):
            raise DemoError(f'Redeeming "max" left {left} shares of {vault["name"]}; please report it.')
        self._session.reporter.say("   shares    0 left")

    def _managed_vault(self, scenario: ManagedVaultScenario) -> Iterator[OperationResult]:
        node, gateway = self._session.node, self._session.gateway
        first, second = (self._listed_vault(name) for name in scenario.strategies)
        asset = first["asset"]
        owner, bot = self._session.with_account(scenario.owner), self._session.with_account(scenario.bot)
        request = {
            "network": self._slug,
            "asset": asset["address"],
            "owner": scenario.owner.address,
            "bot": scenario.bot.address,
            "strategy": scenario.strategies[0],
        }
        quote = self._session.quote("/v2/vaults/deploy/quote", request)
        vault = quote["predictedAddress"]
        if node.call("eth_getCode", vault, "latest") != "0x":
            raise DemoError(f"There is code at {vault} before the deployment; restart the devnet.")
        action = gateway.post("/v2/vaults/deploy/action", request | {"quoteId": quote["quoteId"]})
        yield owner.execute_and_measure("vault deploy", action, {})
        deployed = len(node.call("eth_getCode", vault, "latest")) > len("0x")
        if not deployed or owner.wallet.read_address(vault, "owner()") != scenario.owner.address.lower():
            raise DemoError(f"The vault is not at its predicted address {vault}; please report it.")
        self._session.reporter.say(f"   deployed  at the predicted address {vault}, difference 0")

        path = f"/v2/vaults/{node.chain_id}:{vault}"
        manage = {
            "action": "addStrategy",
            "address": scenario.owner.address,
            "strategy": scenario.strategies[1],
        }
        yield owner.execute_and_measure(
            "vault add strategy", owner.action(f"{path}/manage/action", manage), {}
        )
        amount = self._wallet.balance(asset["address"]) // PART_OF_BALANCE
        deposit = {
            "action": "deposit",
            "address": self._wallet.address,
            "asset": asset["address"],
            "amount": str(amount),
        }
        yield self._session.operate("managed deposit", path, deposit)

        token, move = listed(asset), {"address": scenario.bot.address, "slippageBps": 1}
        places = [(account, token) for account in (vault, first["address"], second["address"])]
        rebalance = f"{path}/rebalance/action"
        all_in = dict(zip(places, (-amount, amount, 0), strict=True))
        yield bot.execute_and_measure("rebalance, idle money in", bot.action(rebalance, move), all_in)
        part = amount // 4
        across = dict(zip(places, (0, -part, part), strict=True))
        body = move | {"strategy": scenario.strategies[1], "amount": str(part)}
        yield bot.execute_and_measure("rebalance, between two", bot.action(rebalance, body), across)
        self._check_role_required(path, body | {"address": self._wallet.address})

    def _check_role_required(self, path: str, body: Answer) -> None:
        """Check that a caller without the role is refused. Raises DemoError."""
        try:
            self._session.action(f"{path}/rebalance/action", body)
        except RefusedError as refusal:
            if refusal.reason == "role_required":
                self._session.reporter.say("   refused   the same call without the role: role_required")
                return
            raise
        raise DemoError("A rebalance of a caller without the role was not refused; please report it.")

    def _listed_vault(self, strategy: str) -> Answer:
        return self._listed(f"/v2/vaults?network={self._slug}&strategy={strategy}")[0]

    def _listed(self, path: str) -> list[Answer]:
        """Return the rows of a catalog, which may be empty just after the gateway's start."""
        deadline = time.monotonic() + _CATALOG_TIMEOUT_S
        while time.monotonic() < deadline:
            if rows := list(self._session.gateway.pages(f"{path}&limit=200")):
                return rows
            time.sleep(_CATALOG_POLL_S)
        raise DemoError(f"The gateway lists nothing under {path}; look at its log for the reason.")
