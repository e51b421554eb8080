// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

/// @title Lens: the swap state of many Uniswap pools in one eth_call without a deployed contract
/// @notice The creation code runs in an eth_call without `to`; the constructor's return data is the answer. A node
/// treats the answer as code to deploy: it may have at most 24,576 bytes (EIP-170), may not start with 0xEF (EIP-3541)
/// and costs 200 gas per byte. Words are read outward from the price, one per pool in turn, while size and gas suffice.
/// The answer gives the words read for each pool. The call does not fail when size or gas run out.
///
/// Input, 68 bytes per pool:   kind 1 (2, 3, 4, 5: Algebra) | target 20 (pair, pool or PoolManager) | v4 pool id 32 |
///                            tick spacing 3 | relative 1 | start word 3 (signed) | words below 4 | words above 4
/// Output: 0x01, then per pool: 0x00 when there is none, 0x01 when the contract (not v4) exists but cannot trade yet,
///                                 or asks a plugin before each swap (Algebra)
///                            0x02 | reserve0 14 | reserve1 14
///                            0x03 | sqrt price 20 | tick 3 | protocol fee 4 | LP fee 3 (v4, Algebra) | liquidity 16 |
///                                   lowest word 3 | highest word 3 | count 2 | count times (tick 3 | liquidityNet 16)
/// No word was read when the lowest word is above the highest.
contract Lens {
    uint256 private constant RECORD = 68;
    uint256 private constant MAX_ANSWER = 24_000;
    uint256 private constant HEADER = 55;
    uint256 private constant TICK = 19;
    // Gas of four cold slots, a call and the loop on v3; v4 needs less.
    uint256 private constant TICK_GAS = 17_000;
    uint256 private constant WORD_GAS = 8_000;
    uint256 private constant MARGIN_GAS = 400_000;
    int256 private constant MAX_TICK = 887272;

    uint256 private constant GET_RESERVES = 0x0902f1ac; // getReserves()
    uint256 private constant SLOT0 = 0x3850c7bd; // slot0()
    uint256 private constant LIQUIDITY = 0x1a686502; // liquidity()
    uint256 private constant TICK_BITMAP = 0x5339c296; // tickBitmap(int16)
    uint256 private constant TICKS = 0xf30dba93; // ticks(int24)
    uint256 private constant EXTSLOAD = 0x1e2eaeaf; // extsload(bytes32)
    uint256 private constant GLOBAL_STATE = 0xe76c01e4; // globalState()
    uint256 private constant TICK_TABLE = 0xc677e3e0; // tickTable(int16)
    uint256 private constant BEFORE_SWAP = 1; // Algebra: a flag of pluginConfig

    struct PoolView {
        uint8 kind; // 0 when absent, 1 when it cannot trade yet
        address target;
        bytes32 slot; // v4: slot of Pool.State
        int256 spacing;
        uint256 slot0; // sqrt price 160 | tick 24 | protocol fee 32 | LP fee 24, from the lowest bit
        uint256 liquidity; // v2: reserve1 << 112 | reserve0
        int256 center;
        int256 below; // words wanted on each side of the center; negative when finished
        int256 above;
        int256 low;
        int256 high;
        uint256[] lower; // bitmap words center, center - 1, ...
        uint256[] upper; // bitmap words center + 1, center + 2, ...
    }

    constructor(bytes memory input) {
        uint256 count = input.length / RECORD;
        PoolView[] memory pools = new PoolView[](count);
        uint256 used = 1;
        int256 reach = 0;
        for (uint256 i = 0; i < count; ++i) {
            PoolView memory pool = pools[i];
            used += _open(pool, input, i * RECORD);
            if (pool.below > reach) reach = pool.below;
            if (pool.above > reach) reach = pool.above;
        }

        uint256 ticks = 0;
        for (int256 distance = 0; distance <= reach; ++distance) {
            for (uint256 i = 0; i < count; ++i) {
                PoolView memory pool = pools[i];
                if (pool.kind < 3) continue;
                for (uint256 side = 0; side < 2; ++side) {
                    if (side == 0 ? distance > pool.below : distance == 0 || distance > pool.above) continue;
                    uint256 spent = used + ticks * TICK;
                    uint256 reserved = MARGIN_GAS + spent * 200 + ticks * TICK_GAS;
                    bool room = gasleft() > reserved + WORD_GAS;
                    uint256 word = room ? _bitmap(pool, side == 0 ? pool.center - distance : pool.center + distance) : 0;
                    uint256 found = _ones(word);
                    if (
                        !room || spent + found * TICK > MAX_ANSWER || gasleft() < reserved + found * (TICK_GAS + TICK * 200)
                    ) {
                        if (side == 0) pool.below = -1;
                        else pool.above = -1;
                        if (distance == 0) pool.above = -1;
                        continue;
                    }
                    ticks += found;
                    if (side == 0) {
                        pool.lower[uint256(distance)] = word;
                        pool.low = pool.center - distance;
                        if (distance == 0) pool.high = pool.center;
                    } else {
                        pool.upper[uint256(distance) - 1] = word;
                        pool.high = pool.center + distance;
                    }
                }
            }
        }

        bytes memory answer = new bytes(used + ticks * TICK);
        uint256 at;
        assembly ("memory-safe") {
            at := add(answer, 32)
        }
        at = _put(at, 1, 1);
        for (uint256 i = 0; i < count; ++i) at = _write(at, pools[i]);
        assembly ("memory-safe") {
            return(add(answer, 32), sub(at, add(answer, 32)))
        }
    }

    /// Reads one record and the pool's state. Returns its size in the answer without ticks.
    function _open(PoolView memory pool, bytes memory input, uint256 offset) private view returns (uint256) {
        uint256 head = _word(input, offset);
        uint8 kind = uint8(head >> 248);
        address target = address(uint160(head >> 88));
        bytes32 id = bytes32(_word(input, offset + 21));
        uint256 tail = _word(input, offset + 36); // its low 120 bits are the last 15 bytes of the record
        if (target.code.length == 0) return 1;
        pool.target = target;
        if (kind != 4) pool.kind = 1;
        pool.spacing = int256((tail >> 96) & 0xffffff);
        pool.below = -1;
        pool.above = -1;
        if (kind == 2) {
            (uint256 reserve0, uint256 reserve1) = _read(target, GET_RESERVES, 0);
            if (reserve0 == 0 || reserve1 == 0) return 1;
            pool.liquidity = (reserve1 << 112) | reserve0;
            pool.kind = kind;
            return 29;
        }
        if (kind == 3 || kind == 5) {
            pool.slot0 = kind == 3 ? _slot0(target) : _globalState(target);
            (pool.liquidity,) = _read(target, LIQUIDITY, 0);
        } else {
            pool.slot = keccak256(abi.encodePacked(id, uint256(6)));
            uint256 raw = _extsload(target, uint256(pool.slot));
            pool.slot0 = (raw & ((1 << 208) - 1)) | (((raw >> 208) & 0xffffff) << 216);
            pool.liquidity = _extsload(target, uint256(pool.slot) + 3);
        }
        if (uint160(pool.slot0) == 0) return 1;
        pool.kind = kind;
        int256 edge = MAX_TICK / pool.spacing;
        bool relative = (tail >> 88) & 0xff != 0;
        pool.center = relative
            ? _floor(int24(uint24(pool.slot0 >> 160)), pool.spacing) >> 8
            : int256(int24(uint24(tail >> 64)));
        pool.below = _least(int256((tail >> 32) & 0xffffffff), pool.center - ((-edge - 1) >> 8));
        pool.above = _least(int256(tail & 0xffffffff), ((edge + 1) >> 8) - pool.center);
        pool.low = pool.center;
        pool.high = pool.center - 1;
        pool.lower = new uint256[](pool.below < 0 ? 0 : uint256(pool.below) + 1);
        pool.upper = new uint256[](pool.above < 0 ? 0 : uint256(pool.above));
        return HEADER;
    }

    function _write(uint256 at, PoolView memory pool) private view returns (uint256) {
        if (pool.kind < 2) return _put(at, pool.kind, 1);
        if (pool.kind == 2) {
            at = _put(at, 2, 1);
            at = _put(at, pool.liquidity & ((1 << 112) - 1), 14);
            return _put(at, pool.liquidity >> 112, 14);
        }
        at = _put(at, 3, 1);
        at = _put(at, uint160(pool.slot0), 20);
        at = _put(at, (pool.slot0 >> 160) & 0xffffff, 3);
        at = _put(at, (pool.slot0 >> 184) & 0xffffffff, 4);
        at = _put(at, (pool.slot0 >> 216) & 0xffffff, 3);
        at = _put(at, pool.liquidity, 16);
        at = _put(at, uint256(pool.low) & 0xffffff, 3);
        at = _put(at, uint256(pool.high) & 0xffffff, 3);
        uint256 counter = at;
        at = _put(at, 0, 2);
        uint256 found = 0;
        for (int256 word = pool.low; word <= pool.high; ++word) {
            uint256 bits = word > pool.center
                ? pool.upper[uint256(word - pool.center) - 1]
                : pool.lower[uint256(pool.center - word)];
            for (uint256 bit = 0; bits != 0; ++bit) {
                if (bits & 1 != 0) {
                    int256 tick = ((word << 8) + int256(bit)) * pool.spacing;
                    at = _put(at, uint256(tick) & 0xffffff, 3);
                    at = _put(at, _liquidityNet(pool, tick), 16);
                    ++found;
                }
                bits >>= 1;
            }
        }
        _put(counter, found, 2);
        return at;
    }

    /// Reads slot0 of v3 and its forks: feeProtocol is the sixth word (uint8, in some forks uint32).
    function _slot0(address pool) private view returns (uint256 packed) {
        assembly ("memory-safe") {
            let out := mload(0x40)
            mstore(0, shl(224, SLOT0))
            let ok := staticcall(gas(), pool, 0, 4, out, 192)
            if and(ok, gt(returndatasize(), 191)) {
                packed := and(mload(out), 0xffffffffffffffffffffffffffffffffffffffff)
                packed := or(packed, shl(160, and(mload(add(out, 32)), 0xffffff)))
                packed := or(packed, shl(184, and(mload(add(out, 160)), 0xffffffff)))
            }
        }
    }

    /// Reads globalState of Algebra Integral: price, tick, fee, plugin config, community fee, unlocked. Returns zero
    /// when a plugin is asked before each swap: it may change the fee.
    function _globalState(address pool) private view returns (uint256 packed) {
        assembly ("memory-safe") {
            let out := mload(0x40)
            mstore(0, shl(224, GLOBAL_STATE))
            let ok := staticcall(gas(), pool, 0, 4, out, 192)
            if and(ok, gt(returndatasize(), 191)) {
                if and(iszero(and(mload(add(out, 96)), BEFORE_SWAP)), iszero(iszero(mload(add(out, 160))))) {
                    packed := and(mload(out), 0xffffffffffffffffffffffffffffffffffffffff)
                    packed := or(packed, shl(160, and(mload(add(out, 32)), 0xffffff)))
                    packed := or(packed, shl(216, and(mload(add(out, 64)), 0xffffff)))
                }
            }
        }
    }

    function _bitmap(PoolView memory pool, int256 word) private view returns (uint256 bits) {
        if (pool.kind == 4) return _extsload(pool.target, _mapped(word, uint256(pool.slot) + 5));
        (bits,) = _read(pool.target, pool.kind == 3 ? TICK_BITMAP : TICK_TABLE, uint256(word));
    }

    function _liquidityNet(PoolView memory pool, int256 tick) private view returns (uint256 net) {
        if (pool.kind == 4) return _extsload(pool.target, _mapped(tick, uint256(pool.slot) + 4)) >> 128;
        (, net) = _read(pool.target, TICKS, uint256(tick));
    }

    /// Returns the slot of a mapping's member. Source: StateLibrary, keys are sign-extended to a word.
    function _mapped(int256 key, uint256 slot) private pure returns (uint256 hash) {
        assembly ("memory-safe") {
            mstore(0, key)
            mstore(32, slot)
            hash := keccak256(0, 64)
        }
    }

    function _extsload(address manager, uint256 slot) private view returns (uint256 value) {
        (value,) = _read(manager, EXTSLOAD, slot);
    }

    /// Returns the first two words of a call's answer, zero when there is none. Uses scratch memory: allocations in
    /// thousands of calls would cost most of the gas.
    function _read(address target, uint256 selector, uint256 argument) private view returns (uint256 a, uint256 b) {
        assembly ("memory-safe") {
            mstore(0, or(shl(224, selector), shr(32, argument)))
            mstore(32, shl(224, argument))
            if staticcall(gas(), target, 0, 36, 0, 64) {
                if gt(returndatasize(), 31) { a := mload(0) }
                if gt(returndatasize(), 63) { b := mload(32) }
            }
        }
    }

    function _put(uint256 at, uint256 value, uint256 size) private pure returns (uint256) {
        assembly ("memory-safe") {
            for { let i := 0 } lt(i, size) { i := add(i, 1) } {
                mstore8(add(at, i), shr(shl(3, sub(sub(size, i), 1)), value))
            }
        }
        return at + size;
    }

    function _word(bytes memory input, uint256 offset) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(add(add(input, 32), offset))
        }
    }

    function _floor(int256 value, int256 divisor) private pure returns (int256 quotient) {
        quotient = value / divisor;
        if (value < 0 && value % divisor != 0) --quotient;
    }

    function _least(int256 a, int256 b) private pure returns (int256) {
        return a < b ? a : b;
    }

    function _ones(uint256 bits) private pure returns (uint256 count) {
        for (; bits != 0; bits &= bits - 1) ++count;
    }
}
