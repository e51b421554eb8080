"""Ticks and square-root prices. Source: v3-core TickMath; v4-core TickMath returns the same values."""

from __future__ import annotations

MIN_TICK = -887272
MAX_TICK = 887272
MIN_SQRT_RATIO = 4295128739
MAX_SQRT_RATIO = 1461446703485210103287273052203988822378723970342

_FACTORS = (
    0xFFFCB933BD6FAD37AA2D162D1A594001,
    0xFFF97272373D413259A46990580E213A,
    0xFFF2E50F5F656932EF12357CF3C7FDCC,
    0xFFE5CACA7E10E4E61C3624EAA0941CD0,
    0xFFCB9843D60F6159C9DB58835C926644,
    0xFF973B41FA98C081472E6896DFB254C0,
    0xFF2EA16466C96A3843EC78B326B52861,
    0xFE5DEE046A99A2A811C461F1969C3053,
    0xFCBE86C7900A88AEDCFFC83B479AA3A4,
    0xF987A7253AC413176F2B074CF7815E54,
    0xF3392B0822B70005940C7A398E4B70F3,
    0xE7159475A2C29B7443B29C7FA6E889D9,
    0xD097F3BDFD2022B8845AD8F792AA5825,
    0xA9F746462D870FDF8A65DC1F90E061E5,
    0x70D869A156D2A1B890BB3DF62BAF32F7,
    0x31BE135F97D08FD981231505542FCFA6,
    0x9AA508B5B7A84E1C677DE54F3E99BC9,
    0x5D6AF8DEDB81196699C329225EE604,
    0x2216E584F5FA1EA926041BEDFE98,
    0x48A170391F7DC42444E8FA2,
)
_MAX_UINT256 = 2**256 - 1


def sqrt_ratio_at_tick(tick: int) -> int:
    """Returns sqrt(1.0001^tick) as Q64.96, rounded up. Source: TickMath.getSqrtRatioAtTick."""
    magnitude = -tick if tick < 0 else tick
    if magnitude > MAX_TICK:
        raise ValueError(f"tick {tick} is outside [{MIN_TICK}, {MAX_TICK}]")
    ratio = 1 << 128
    index = 0
    while magnitude:
        if magnitude & 1:
            ratio = ratio * _FACTORS[index] >> 128
        magnitude >>= 1
        index += 1
    if tick > 0:
        ratio = _MAX_UINT256 // ratio
    return (ratio + 0xFFFFFFFF) >> 32


def tick_at_sqrt_ratio(sqrt_price_x96: int) -> int:
    """Returns the greatest tick whose ratio is at most `sqrt_price_x96`. Source: TickMath.getTickAtSqrtRatio.

    As in the contract, the fixed-point logarithm gives two candidates and the forward function decides.
    """
    if not MIN_SQRT_RATIO <= sqrt_price_x96 < MAX_SQRT_RATIO:
        raise ValueError(f"sqrt price {sqrt_price_x96} is outside [{MIN_SQRT_RATIO}, {MAX_SQRT_RATIO})")
    ratio = sqrt_price_x96 << 32
    msb = ratio.bit_length() - 1
    r = ratio >> (msb - 127) if msb >= 128 else ratio << (127 - msb)
    log_2 = (msb - 128) << 64
    for shift in range(63, 49, -1):
        r = r * r >> 127
        if r >> 128:
            log_2 += 1 << shift
            r >>= 1
    log_sqrt10001 = log_2 * 255738958999603826347141
    low = (log_sqrt10001 - 3402992956809132418596140100660247210) >> 128
    high = (log_sqrt10001 + 291339464771989622907027621153398088495) >> 128
    if low == high:
        return low
    return high if sqrt_ratio_at_tick(high) <= sqrt_price_x96 else low
