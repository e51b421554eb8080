"""Random positions of several wallets on the devnet's real contracts, made by calls of those contracts alone.

What went in and came out is taken from the receipts' transfers and from native balances, and what is in a
position now from a simulated withdrawal: nothing of it comes from an index or from the code of a provider.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from quoteway import NATIVE
from quoteway.evm.abi import decode, encode, encode_call
from quoteway.evm.address import keccak256, unused_address
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.prices import liquidity
from rich_accounts import RichAccounts, minted, moved

WALLETS = tuple(account.address for account in ACCOUNTS[2:7])
TRADER = ACCOUNTS[9].address
TAKER = unused_address("random positions")
MOST, FOREVER = 2**128 - 1, 2**40
_KEY = "(address,address,uint24,int24,address)"
_BURN = "0x" + keccak256(b"Burn(address,int24,int24,uint128,uint256,uint256)").hex()
_INCREASE, _DECREASE, _MINT, _BURN_POSITION, _SETTLE_PAIR, _TAKE_PAIR, _SWEEP = (
    *(0x00, 0x01, 0x02, 0x03),
    *(0x0D, 0x11, 0x14),
)
_SWAP_SINGLE, _SETTLE_ALL, _TAKE_ALL, _V4_SWAP = 0x06, 0x0C, 0x0F, 0x10
_CHANGES = ("increase", "decrease", "decrease")
_VERBS = {
    "vault": _CHANGES,
    "v2": (*_CHANGES, "trade"),
    "v3": (*_CHANGES, "trade", "trade", "collect", "give"),
    "v4": (*_CHANGES, "trade", "trade", "collect", "give"),
}


@dataclass
class Held:
    """A position, and the base units that went in and came out, in the order of ``tokens``.

    ``owed`` is principal that was taken out and is not paid yet, and ``fees`` what was paid beyond it.
    """

    kind: str
    place: str
    tokens: tuple[str, ...]
    owner: str
    pool: object = None
    token_id: int | None = None
    ticks: tuple[int, int] = (0, 0)
    liquidity: int = 0
    deposited: list[int] = field(default_factory=list)
    withdrawn: list[int] = field(default_factory=list)
    owed: list[int] = field(default_factory=list)
    fees: list[int] = field(default_factory=list)
    changes: int = 0

    def __post_init__(self):
        for name in ("deposited", "withdrawn", "owed", "fees"):
            setattr(self, name, [0] * len(self.tokens))

    def add(self, name, amounts):
        setattr(self, name, [was + more for was, more in zip(getattr(self, name), amounts, strict=True)])


class RandomPositions(RichAccounts):
    """Makes positions and changes them. ``held`` has those that are open, and ``closed`` the others."""

    def __init__(self, devnet, seed):
        super().__init__(devnet)
        self.chance = random.Random(seed)
        taxed = {token.address for token in self.manifest.tokens if token.behaviour == "fee_on_transfer"}
        self.pools = defaultdict(list)
        for pool in self.manifest.pools:
            if not taxed & {pool.token0, pool.token1}:
                self.pools[pool.protocol[-2:]].append(pool)
        self.held, self.closed = [], []
        self.done = Counter()

    # --- what is made -----------------------------------------------------------------------------------

    def make(self, count):
        """Makes so many open positions, each with later changes, transfers, and trading in between."""
        while len(self.held) < count:
            self.open()
            for _ in range(self.chance.randint(1, 4)):
                held = self.chance.choice(self.held)
                verb = self.chance.choice(_VERBS[held.kind])
                getattr(self, verb)(held)
                self.done[f"{held.kind} {verb}"] += 1
            if self.chance.random() < 0.1:
                self.end(self.chance.choice(self.held))

    def open(self):
        kind = self.chance.choice(("v2", "v3", "v3", "v4", "v4", "vault"))
        owner = self.chance.choice(WALLETS)
        if kind == "vault":
            vault = self.chance.choice(self.manifest.vaults)
            place, tokens, pool = vault.address, (vault.asset,), vault
        else:
            pool = self.chance.choice(self.pools[kind])
            place, tokens = pool.id, (pool.token0, pool.token1)
        held = Held(kind, place, tokens, owner, pool)
        if kind in ("v2", "vault"):  # a wallet has one position in a pair or a vault
            if any((each.place, each.owner) == (place, owner) for each in (*self.held, *self.closed)):
                return
        else:
            held.ticks = self._range(pool)
        self.held.append(held)
        self.increase(held)
        self.done[f"{kind} open"] += 1

    def increase(self, held):
        dollars = 10 ** self.chance.uniform(1, 4)
        amounts = [self.units(token, dollars) for token in held.tokens]
        getattr(self, f"_increase_{held.kind}")(held, amounts)
        held.changes += 1

    def decrease(self, held, liquidity=None):
        part = liquidity or max(int(held.liquidity * self.chance.uniform(0.01, 0.9)), 1)
        if held.liquidity:
            getattr(self, f"_decrease_{held.kind}")(held, min(part, held.liquidity))
            held.changes += 1

    def collect(self, held):
        getattr(self, f"_collect_{held.kind}")(held)

    def give(self, held):
        """Gives a position token to another wallet."""
        to = self.chance.choice([each for each in WALLETS if each != held.owner])
        data = encode_call("transferFrom(address,address,uint256)", [held.owner, to, held.token_id])
        self.send(held.owner, self._manager(held), data)
        held.owner = to

    def end(self, held):
        """Withdraws all of a position, and burns its token."""
        self.decrease(held, held.liquidity)
        if held.kind == "v3":
            self._collect_v3(held)
            self.send(held.owner, self._manager(held), encode_call("burn(uint256)", [held.token_id]))
        elif held.kind == "v4":
            self._modify(held, [(_BURN_POSITION, self._burn(held)), (_TAKE_PAIR, self._take(held))])
        self.held.remove(held)
        self.closed.append(held)

    def trade(self, held):
        """Swaps in the pool of a position, so that it earns fees."""
        pool, kind = held.pool, held.kind
        zero = self.chance.random() < 0.5
        sold, bought = held.tokens if zero else held.tokens[::-1]
        amount = self.units(sold, pool.depth_usd * 10 ** self.chance.uniform(-5, -2.5))
        if kind == "v4":
            router, permit2 = self.contracts["UniversalRouter"], self.contracts["Permit2"]
            self.allow(TRADER, sold, permit2, router)
            kinds = f"({_KEY},bool,uint128,uint128,bytes)"
            swap = encode([kinds], [(self._key(pool), zero, amount, 0, b"")])
            ends = [
                encode(["address", "uint256"], [sold, amount]),
                encode(["address", "uint256"], [bought, 0]),
            ]
            plan = encode(
                ["bytes", "bytes[]"], [bytes([_SWAP_SINGLE, _SETTLE_ALL, _TAKE_ALL]), [swap, *ends]]
            )
            data = encode_call("execute(bytes,bytes[],uint256)", [bytes([_V4_SWAP]), [plan], FOREVER])
            self.send(TRADER, router, data, amount if sold == NATIVE else 0)
            return
        if kind == "v2":
            to = self.contracts["UniswapV2Router02"]
            call = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
            data = encode_call(call, [amount, 0, [sold, bought], TRADER, FOREVER])
        else:
            to = self.contracts["SwapRouter02"]
            call = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))"
            data = encode_call(call, [(sold, bought, pool.fee, TRADER, amount, 0, 0)])
        self.allow(TRADER, sold, to)
        self.send(TRADER, to, data)

    # --- pairs and vaults -------------------------------------------------------------------------------

    def _increase_v2(self, held, amounts):
        router, pair = self.contracts["UniswapV2Router02"], held.place
        for token in (*held.tokens, pair):
            self.allow(held.owner, token, router)
        call = "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)"
        data = encode_call(call, [*held.tokens, *amounts, 0, 0, held.owner, FOREVER])
        receipt = self.send(held.owner, router, data)
        held.add("deposited", moved(receipt, held.tokens, held.owner, pair))
        held.liquidity += moved(receipt, [pair], NATIVE, held.owner)[0]

    def _decrease_v2(self, held, part):
        receipt = self.send(held.owner, self.contracts["UniswapV2Router02"], self._remove(held, part))
        held.add("withdrawn", moved(receipt, held.tokens, held.place, held.owner))
        held.liquidity -= part

    def _remove(self, held, part):
        call = "removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)"
        return encode_call(call, [*held.tokens, part, 0, 0, held.owner, FOREVER])

    def _increase_vault(self, held, amounts):
        self.allow(held.owner, held.tokens[0], held.place)
        data = encode_call("deposit(uint256,address)", [amounts[0], held.owner])
        receipt = self.send(held.owner, held.place, data)
        held.add("deposited", moved(receipt, held.tokens, held.owner, held.place))
        held.liquidity += moved(receipt, [held.place], NATIVE, held.owner)[0]

    def _decrease_vault(self, held, part):
        receipt = self.send(held.owner, held.place, self._redeem(held, part))
        held.add("withdrawn", moved(receipt, held.tokens, held.place, held.owner))
        held.liquidity -= part

    def _redeem(self, held, part):
        return encode_call("redeem(uint256,address,address)", [part, held.owner, held.owner])

    # --- v3 ---------------------------------------------------------------------------------------------

    def _increase_v3(self, held, amounts):
        manager = self._manager(held)
        for token in held.tokens:
            self.allow(held.owner, token, manager)
        if held.token_id is None:
            kinds = "(address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256)"
            row = (*held.tokens, held.pool.fee, *held.ticks, *amounts, 0, 0, held.owner, FOREVER)
            receipt = self.send(held.owner, manager, encode_call(f"mint({kinds})", [row]))
            held.token_id = minted(receipt, manager)
        else:
            call = "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))"
            row = (held.token_id, *amounts, 0, 0, FOREVER)
            receipt = self.send(held.owner, manager, encode_call(call, [row]))
        held.add("deposited", moved(receipt, held.tokens, held.owner, held.place))
        held.liquidity = self._liquidity_v3(held)

    def _decrease_v3(self, held, part):
        receipt = self.send(held.owner, self._manager(held), self._lower(held, part))
        (burnt,) = (log for log in receipt["logs"] if log["topics"][0] == _BURN)
        amounts = decode(["uint128", "uint256", "uint256"], bytes.fromhex(burnt["data"][2:]))[1:]
        held.add("withdrawn", amounts)
        held.add("owed", amounts)
        held.liquidity -= part

    def _collect_v3(self, held):
        receipt = self.send(held.owner, self._manager(held), self._collect_all(held))
        paid = moved(receipt, held.tokens, held.place, held.owner)
        held.add("fees", [got - owed for got, owed in zip(paid, held.owed, strict=True)])
        held.owed = [0, 0]

    def _lower(self, held, part):
        call = "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))"
        return encode_call(call, [(held.token_id, part, 0, 0, FOREVER)])

    def _collect_all(self, held):
        call = "collect((uint256,address,uint128,uint128))"
        return encode_call(call, [(held.token_id, held.owner, MOST, MOST)])

    # --- v4 ---------------------------------------------------------------------------------------------

    def _increase_v4(self, held, amounts):
        for token in held.tokens:
            self.allow(held.owner, token, self.contracts["Permit2"], self._manager(held))
        if held.token_id is not None:
            self._collect_v4(held)  # fees would be set off against what is paid
        tick = self._tick(held.pool)
        near = tick - 50 * held.pool.tick_spacing, tick + 50 * held.pool.tick_spacing
        added = max(liquidity(Fraction(1.0001**tick), near, *amounts), 1)
        settle = encode(["address", "address"], held.tokens)
        if held.token_id is None:
            kinds = [_KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes"]
            row = [self._key(held.pool), *held.ticks, added, MOST, MOST, held.owner, b""]
            calls = [(_MINT, encode(kinds, row)), (_SETTLE_PAIR, settle)]
        else:
            row = [held.token_id, added, MOST, MOST, b""]
            kinds = ["uint256", "uint256", "uint128", "uint128", "bytes"]
            calls = [(_INCREASE, encode(kinds, row)), (_SETTLE_PAIR, settle)]
        value = 0
        if held.tokens[0] == NATIVE:
            calls.append((_SWEEP, encode(["address", "address"], [NATIVE, held.owner])))
            value = 10**23
        receipt, paid = self._modify(held, calls, value)
        held.add("deposited", [-each for each in paid])
        if held.token_id is None:
            held.token_id = minted(receipt, self._manager(held))
        held.liquidity += added

    def _decrease_v4(self, held, part):
        self._collect_v4(held)
        _, paid = self._modify(held, [(_DECREASE, self._part(held, part)), (_TAKE_PAIR, self._take(held))])
        held.add("withdrawn", paid)
        held.liquidity -= part

    def _collect_v4(self, held):
        if not held.liquidity:
            return
        _, paid = self._modify(held, [(_DECREASE, self._part(held, 0)), (_TAKE_PAIR, self._take(held))])
        held.add("fees", paid)
        held.changes += 1

    def _part(self, held, part):
        kinds = ["uint256", "uint256", "uint128", "uint128", "bytes"]
        return encode(kinds, [held.token_id, part, 0, 0, b""])

    def _burn(self, held):
        return encode(["uint256", "uint128", "uint128", "bytes"], [held.token_id, 0, 0, b""])

    def _take(self, held, to=None):
        return encode(["address", "address", "address"], [*held.tokens, to or held.owner])

    def _plan(self, calls):
        actions, parameters = bytes(code for code, _ in calls), [each for _, each in calls]
        plan = encode(["bytes", "bytes[]"], [actions, parameters])
        return encode_call("modifyLiquidities(bytes,uint256)", [plan, FOREVER])

    def _modify(self, held, calls, value=0):
        """Returns the receipt, and what the owner got of each token, less what the owner paid."""
        before = int(self.rpc("eth_getBalance", held.owner, "latest"), 16)
        receipt = self.send(held.owner, self._manager(held), self._plan(calls), value)
        gas = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
        coin = int(self.rpc("eth_getBalance", held.owner, "latest"), 16) - before + gas
        pool = self.contracts["PoolManager"]
        got = moved(receipt, held.tokens, pool, held.owner)
        gave = moved(receipt, held.tokens, held.owner, pool)
        return receipt, [
            coin if token == NATIVE else plus - minus
            for token, plus, minus in zip(held.tokens, got, gave, strict=True)
        ]

    # --- what a withdrawal pays -------------------------------------------------------------------------

    def worth(self, held):
        """Returns what a withdrawal of the whole position with its fees would pay now."""
        if held.kind == "v2":
            data = self._remove(held, held.liquidity)
            return self.call(held.owner, self.contracts["UniswapV2Router02"], data, "uint256", "uint256")
        if held.kind == "vault":
            return self.call(held.owner, held.place, self._redeem(held, held.liquidity), "uint256")
        if held.kind == "v3":
            calls = [self._lower(held, held.liquidity)] if held.liquidity else []
            data = encode_call("multicall(bytes[])", [[*calls, self._collect_all(held)]])
            (results,) = self.call(held.owner, self._manager(held), data, "bytes[]")
            return list(decode(["uint256", "uint256"], results[-1]))
        # The manager of v4 answers nothing: what the taker has afterwards is what it paid.
        calls = [(_BURN_POSITION, self._burn(held)), (_TAKE_PAIR, self._take(held, TAKER))]
        reads = [self._balance(token) for token in held.tokens]
        first = {
            "from": held.owner,
            "to": self._manager(held),
            "data": "0x" + self._plan(calls).hex(),
            "gas": hex(3_000_000),
        }
        wanted = {"blockStateCalls": [{"calls": [first, *reads]}]}
        (block,) = self.rpc("eth_simulateV1", wanted, "latest")
        assert all(call["status"] == "0x1" for call in block["calls"]), block
        return [int(call["returnData"], 16) for call in block["calls"][1:]]

    def _balance(self, token):
        if token == NATIVE:
            to, data = self.contracts["Multicall3"], encode_call("getEthBalance(address)", [TAKER])
        else:
            to, data = token, encode_call("balanceOf(address)", [TAKER])
        return {"from": TAKER, "to": to, "data": "0x" + data.hex(), "gas": hex(1_000_000)}

    # --- pools ------------------------------------------------------------------------------------------

    def _manager(self, held):
        return self.contracts["NonfungiblePositionManager" if held.kind == "v3" else "PositionManager"]

    def _key(self, pool):
        return pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks

    def _tick(self, pool):
        if pool.protocol == "uniswap-v4":
            data = encode_call("getSlot0(bytes32)", [bytes.fromhex(pool.id[2:])])
            return self.call(
                TRADER, self.contracts["StateView"], data, "uint160", "int24", "uint24", "uint24"
            )[1]
        kinds = ("uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool")
        return self.call(TRADER, pool.id, encode_call("slot0()", []), *kinds)[1]

    def _range(self, pool):
        """Returns random bounds around the price, or on one side of it."""
        tick, chance = self._tick(pool) // pool.tick_spacing, self.chance
        bounds = tick - chance.randint(0, 40), tick + chance.randint(1, 40)
        shift = chance.choice((-60, 60)) if chance.random() < 0.2 else 0
        return tuple((each + shift) * pool.tick_spacing for each in bounds)

    def _liquidity_v3(self, held):
        data = encode_call("positions(uint256)", [held.token_id])
        kinds = (
            *("uint96", "address", "address", "address", "uint24", "int24", "int24", "uint128"),
            *("uint256", "uint256", "uint128", "uint128"),
        )
        return self.call(held.owner, self._manager(held), data, *kinds)[7]
