"""Reads the state of pools and positions that liquidity operations need, at one block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quoteway import Address, Block, Chain, Reason, UpstreamError
from quoteway.evm.abi import Function, function
from quoteway.evm.address import address_bytes, keccak256
from quoteway.evm.chain import Call, CallFailed
from quoteway.evm.erc20 import BALANCE_OF, TOTAL_SUPPLY
from quoteway_amm import (
    amounts_for_liquidity,
    fee_growth_inside,
    fees_earned,
    sqrt_ratio_at_tick,
    tokens_owed,
    v2_protocol_shares,
)

from quoteway_uniswap.abi_words import address_of, signed, words_of
from quoteway_uniswap.candidates import EXTSLOAD, pool_id, v3_pool, v4_pool_slot
from quoteway_uniswap.deployments import Deployment, PoolKey
from quoteway_uniswap.known_pools import KnownPool, manager_of

_GET_RESERVES = function("getReserves() returns (uint112, uint112, uint32)")
_K_LAST = function("kLast() returns (uint256)")
_FEE_TO = function("feeTo() returns (address)")
_SLOT0 = function("slot0() returns (uint160, int24, uint16, uint16, uint16, uint8, bool)")
_LIQUIDITY = function("liquidity() returns (uint128)")
_GROWTH = (
    function("feeGrowthGlobal0X128() returns (uint256)"),
    function("feeGrowthGlobal1X128() returns (uint256)"),
)
_TICKS = function("ticks(int24 tick) returns (uint128, int128, uint256, uint256)")
_POOL_POSITIONS = function("positions(bytes32 key) returns (uint128, uint256, uint256, uint128, uint128)")
_POSITIONS = function("positions(uint256 tokenId) returns (uint96, address)")
_OWNER_OF = function("ownerOf(uint256 tokenId) returns (address)")
_INFO = function("getPoolAndPositionInfo(uint256 tokenId) returns (address)")

# v4-core StateLibrary: slots of the members of Pool.State.
_GROWTH_SLOT, _LIQUIDITY_SLOT, _TICKS_SLOT, _POSITIONS_SLOT = 1, 3, 4, 6


@dataclass(frozen=True, slots=True)
class PairState:
    """A v2 pair. Balances may exceed reserves by donations, which the next mint or burn includes.

    ``stray_shares`` are LP tokens held by the pair itself: the next burn burns them too.
    """

    reserve0: int
    reserve1: int
    balance0: int
    balance1: int
    total_supply: int
    k_last: int
    fee_on: bool
    stray_shares: int

    @property
    def supply_after_fee(self) -> int:
        """Returns the LP token supply after the protocol's mint, which every mint or burn makes first."""
        if not self.fee_on:
            return self.total_supply
        minted = v2_protocol_shares(self.reserve0, self.reserve1, self.total_supply, self.k_last)
        return self.total_supply + minted


@dataclass(frozen=True, slots=True)
class RangedState:
    """A v3 or v4 pool's price and liquidity. ``protocol_fee`` is as in slot0."""

    sqrt_price_x96: int
    tick: int
    liquidity: int
    lp_fee: int
    protocol_fee: int = 0
    growth: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Nft:
    """A position token of a v3 or v4 position manager."""

    deployment: Deployment
    kind: str
    token_id: int
    owner: Address
    key: PoolKey
    pool: str
    tick_lower: int
    tick_upper: int
    liquidity: int = 0
    growth_last: tuple[int, int] = (0, 0)
    owed: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Holding:
    """A position with the principal (``amounts``) and ``fees`` that a withdrawal pays."""

    nft: Nft
    state: RangedState
    amounts: tuple[int, int]
    fees: tuple[int, int]


class Reading:
    """A batch of calls; equal calls are made once."""

    def __init__(self) -> None:
        self._calls: dict[Call, list[int]] = {}

    def add(self, to: Address, call: Function, *args: object, words: int = 1) -> Call:
        """Adds a call of which at most ``words`` words are read."""
        read = Call(to, call.encode(args), max_output=32 * words)
        self._calls[read] = []
        return read

    async def run(self, chain: Chain, block: Block | None) -> None:
        """Makes the calls in one round trip."""
        answers = await chain.call_many(list(self._calls), block=block)
        for read, answer in zip(self._calls, answers, strict=True):
            # A longer answer is cut to the words asked for.
            cut = answer.output if isinstance(answer, CallFailed) and answer.too_long else b""
            data = answer if isinstance(answer, bytes) else cut
            self._calls[read] = words_of(data)

    def words(self, read: Call) -> list[int]:
        """Returns the answer as unsigned words; empty when the call failed."""
        return self._calls[read]

    def word(self, read: Call) -> int:
        """Returns the first word. Raises UpstreamError when the call failed."""
        words = self.words(read)
        if not words:
            raise UpstreamError(
                "The pool's state could not be read: try again later.", reason=Reason.RPC_ERROR
            )
        return words[0]


async def read_pair(chain: Chain, block: Block, pool: KnownPool) -> PairState:
    """Returns a v2 pair's state in one round trip."""
    pair = pool.ref.id
    assert pool.deployment.v2 is not None
    reading = Reading()
    reserves = reading.add(pair, _GET_RESERVES, words=3)
    balances = [reading.add(token.address, BALANCE_OF, pair) for token in pool.tokens]
    supply, k_last = reading.add(pair, TOTAL_SUPPLY), reading.add(pair, _K_LAST)
    fee_to = reading.add(pool.deployment.v2.factory, _FEE_TO)
    stray = reading.add(pair, BALANCE_OF, pair)
    await reading.run(chain, block)
    reading.word(reserves)
    reserve0, reserve1, _ = reading.words(reserves)
    return PairState(
        reserve0,
        reserve1,
        reading.word(balances[0]),
        reading.word(balances[1]),
        reading.word(supply),
        reading.word(k_last),
        reading.word(fee_to) != 0,
        reading.word(stray),
    )


class _RangedReads:
    """The reads of one v3 or v4 pool's price, liquidity and fee growth."""

    def __init__(self, reading: Reading, kind: str, target: Address, pool: str, lp_fee: int) -> None:
        self._reading = reading
        self._lp_fee = lp_fee
        self._v4 = kind == "v4"
        if self._v4:
            at = v4_pool_slot(pool)
            self._slot0, self._growth0, self._growth1, self._liquidity = (
                reading.add(target, EXTSLOAD, _slot(at + offset))
                for offset in (0, _GROWTH_SLOT, _GROWTH_SLOT + 1, _LIQUIDITY_SLOT)
            )
        else:
            self._slot0 = reading.add(target, _SLOT0, words=7)
            self._growth0, self._growth1 = (reading.add(target, growth) for growth in _GROWTH)
            self._liquidity = reading.add(target, _LIQUIDITY)

    def state(self) -> RangedState:
        word = self._reading.word
        growth = word(self._growth0), word(self._growth1)
        packed = word(self._slot0)
        if not self._v4:
            price, tick, *rest = self._reading.words(self._slot0)
            return RangedState(price, signed(tick), word(self._liquidity), self._lp_fee, rest[3], growth)
        price, tick = packed & ((1 << 160) - 1), signed(packed >> 160, 24)
        return RangedState(
            price, tick, word(self._liquidity), packed >> 208 & 0xFFFFFF, packed >> 184 & 0xFFFFFF, growth
        )


async def read_ranged(chain: Chain, block: Block | None, pools: Sequence[KnownPool]) -> list[RangedState]:
    """Returns the states of v3 and v4 pools in one round trip."""
    reading = Reading()
    reads = [_RangedReads(reading, p.ref.kind, p.ref.target, p.ref.id, p.ref.fee) for p in pools]
    await reading.run(chain, block)
    return [read.state() for read in reads]


async def read_nfts(
    chain: Chain, block: Block, deployment: Deployment, kind: str, token_ids: Iterable[int]
) -> list[Nft]:
    """Returns the position tokens that exist and are not burned, in one round trip."""
    manager = manager_of(deployment, kind)
    if manager is None:
        return []
    reading = Reading()
    asked = []
    for token_id in dict.fromkeys(token_ids):
        if not 0 < token_id < 1 << 256:
            continue
        owner = reading.add(manager, _OWNER_OF, token_id)
        about = reading.add(manager, _POSITIONS if kind == "v3" else _INFO, token_id, words=12)
        asked.append((token_id, owner, about))
    if not asked:
        return []
    await reading.run(chain, block)
    found = []
    for token_id, owner, about in asked:
        if reading.words(owner) and reading.words(about) and reading.word(owner):
            make = _v3_nft if kind == "v3" else _v4_nft
            found.append(make(deployment, token_id, address_of(reading.word(owner)), reading.words(about)))
    return found


def _v3_nft(deployment: Deployment, token_id: int, owner: Address, words: list[int]) -> Nft:
    """Source: NonfungiblePositionManager.positions."""
    assert deployment.v3 is not None
    token0, token1, fee = address_of(words[2]), address_of(words[3]), words[4]
    spacing = dict(deployment.v3.fee_tiers).get(fee, 0)
    pool = v3_pool(deployment.v3, token0, token1, fee, spacing).id
    return Nft(
        deployment,
        "v3",
        token_id,
        owner,
        PoolKey(token0, token1, fee, spacing),
        pool,
        signed(words[5]),
        signed(words[6]),
        words[7],
        (words[8], words[9]),
        (words[10], words[11]),
    )


def _v4_nft(deployment: Deployment, token_id: int, owner: Address, words: list[int]) -> Nft:
    """Source: PositionManager.getPoolAndPositionInfo; PositionInfoLibrary packs the ticks."""
    key = PoolKey(
        address_of(words[0]), address_of(words[1]), words[2], signed(words[3]), address_of(words[4])
    )
    lower, upper = signed(words[5] >> 8, 24), signed(words[5] >> 32, 24)
    return Nft(deployment, "v4", token_id, owner, key, pool_id(key), lower, upper)


async def read_holdings(chain: Chain, block: Block, nfts: Sequence[Nft]) -> list[Holding]:
    """Returns amounts and fees of positions in one round trip."""
    reading = Reading()
    reads = [_HoldingReads(reading, nft) for nft in nfts]
    if reads:
        await reading.run(chain, block)
    return [read.holding() for read in reads]


class _HoldingReads:
    """The reads of one position: its pool, the fee growth at its two ticks, its record inside the pool."""

    def __init__(self, reading: Reading, nft: Nft) -> None:
        self._reading = reading
        self._nft = nft
        manager = manager_of(nft.deployment, nft.kind)
        assert manager is not None
        ticks = nft.tick_lower, nft.tick_upper
        spot = b"".join((address_bytes(manager), *(t.to_bytes(3, signed=True) for t in ticks)))
        if nft.kind == "v4":
            assert nft.deployment.v4 is not None
            target = nft.deployment.v4.pool_manager
            pool = v4_pool_slot(nft.pool)
            key = int.from_bytes(keccak256(spot + nft.token_id.to_bytes(32)))
            record = _mapped(key, pool + _POSITIONS_SLOT)
            self._record = [reading.add(target, EXTSLOAD, _slot(record + n)) for n in range(3)]
            slots = [_mapped(tick, pool + _TICKS_SLOT) for tick in ticks]
            self._outside = [[reading.add(target, EXTSLOAD, _slot(at + n)) for n in (1, 2)] for at in slots]
        else:
            target = nft.pool
            self._record = [reading.add(target, _POOL_POSITIONS, keccak256(spot), words=5)]
            self._ticks = [reading.add(target, _TICKS, tick, words=8) for tick in ticks]
        self._pool = _RangedReads(reading, nft.kind, target, nft.pool, nft.key.fee)

    def holding(self) -> Holding:
        nft, reading, state = self._nft, self._reading, self._pool.state()
        if nft.kind == "v4":
            record = [reading.word(read) for read in self._record]
            outside = [[reading.word(read) for read in reads] for reads in self._outside]
            nft = replace(nft, liquidity=record[0], growth_last=(record[1], record[2]))
        else:
            reading.word(self._record[0])
            record = reading.words(self._record[0])
            outside = [reading.words(read)[2:4] for read in self._ticks]
        fees = []
        for side in (0, 1):
            inside = fee_growth_inside(
                state.tick,
                nft.tick_lower,
                nft.tick_upper,
                state.growth[side],
                outside[0][side],
                outside[1][side],
            )
            # Without liquidity there are no fees, and the ticks may have been cleared.
            earned = fees_earned(inside, nft.growth_last[side], nft.liquidity) if nft.liquidity else 0
            fee = tokens_owed(nft.owed[side], earned)
            if nft.kind == "v3":
                # The pool keeps one position per range for all tokens of the manager and rounds its fees too.
                pool_earned = fees_earned(inside, record[1 + side], record[0]) if nft.liquidity else 0
                fee = min(fee, tokens_owed(record[3 + side], pool_earned))
            fees.append(fee)
        bounds = sqrt_ratio_at_tick(nft.tick_lower), sqrt_ratio_at_tick(nft.tick_upper)
        amounts = amounts_for_liquidity(state.sqrt_price_x96, *bounds, nft.liquidity)
        return Holding(nft, state, amounts, (fees[0], fees[1]))


def v4_tick_slot(identity: str, tick: int) -> int:
    """Returns the storage slot of a v4 tick's liquidityGross and liquidityNet; fee growths follow."""
    return _mapped(tick, v4_pool_slot(identity) + _TICKS_SLOT)


def _mapped(key: int, slot: int) -> int:
    """Returns the slot of a mapping's member; signed keys are sign-extended to a word."""
    return int.from_bytes(keccak256((key % (1 << 256)).to_bytes(32) + slot.to_bytes(32)))


def _slot(number: int) -> bytes:
    return (number % (1 << 256)).to_bytes(32)
