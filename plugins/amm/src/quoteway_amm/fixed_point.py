"""Arithmetic of contracts with 18 decimals: 256-bit words that revert on overflow, powers, logarithms.

Everything here raises ArithmeticError (OverflowError, ZeroDivisionError) where the contract reverts. Sources:
Balancer v2 `FixedPoint.sol`, `Math.sol` and `LogExpMath.sol` (package `solidity-utils`).
"""

from __future__ import annotations

ONE = 10**18
_TWO, _FOUR = 2 * ONE, 4 * ONE
_ONE_20, _ONE_36 = 10**20, 10**36
_MAX_WORD = 2**256 - 1

_MAX_POW_RELATIVE_ERROR = 10_000
"""`LogExpMath.pow` is wrong by at most this share of 1e18."""

_MIN_EXPONENT, _MAX_EXPONENT = -41 * ONE, 130 * ONE
_MILD_EXPONENT_BOUND = 2**254 // _ONE_20

# (x, e^x): the first two with 18 decimals and none, the others with 20 decimals each. The contract's
# constants are rounded at these places.
_LARGE_POWERS = (
    (128 * ONE, 38877084059945950922200000000000000000000000000000000000),
    (64 * ONE, 6235149080811616882910000000),
)
_POWERS = (
    (32 * _ONE_20, 7896296018268069516100000000000000),
    (16 * _ONE_20, 888611052050787263676000000),
    (8 * _ONE_20, 298095798704172827474000),
    (4 * _ONE_20, 5459815003314423907810),
    (2 * _ONE_20, 738905609893065022723),
    (_ONE_20, 271828182845904523536),
    (_ONE_20 // 2, 164872127070012814685),
    (_ONE_20 // 4, 128402541668774148407),
    (_ONE_20 // 8, 113314845306682631683),
    (_ONE_20 // 16, 106449445891785942956),
)
_EXP_POWERS = _POWERS[:8]
"""`exp` stops at a quarter: its series does the rest."""


def word(value: int) -> int:
    """Returns `value`. Raises OverflowError when it is no uint256."""
    if not 0 <= value <= _MAX_WORD:
        raise OverflowError("not a uint256")
    return value


def divided_up(numerator: int, denominator: int) -> int:
    """Returns the quotient rounded up. Source: Math.divUp."""
    return -(-numerator // denominator)


def mul_down(a: int, b: int) -> int:
    """Returns `a * b / 1e18`, rounded down."""
    return word(a * b) // ONE


def mul_up(a: int, b: int) -> int:
    """Returns `a * b / 1e18`, rounded up."""
    return divided_up(word(a * b), ONE)


def div_down(a: int, b: int) -> int:
    """Returns `a * 1e18 / b`, rounded down."""
    return word(a * ONE) // b


def div_up(a: int, b: int) -> int:
    """Returns `a * 1e18 / b`, rounded up."""
    return divided_up(word(a * ONE), b)


def complement(value: int) -> int:
    """Returns `1 - value`, at least 0."""
    return max(ONE - value, 0)


def pow_up(base: int, exponent: int, exact_powers: bool) -> int:
    """Returns a power that is not below the true one.

    `exact_powers`: exponents of 1, 2 and 4 are multiplied out, as newer releases of FixedPoint.powUp do.
    """
    if exact_powers:
        if exponent == ONE:
            return base
        if exponent == _TWO:
            return mul_up(base, base)
        if exponent == _FOUR:
            square = mul_up(base, base)
            return mul_up(square, square)
    raw = power(base, exponent)
    return word(raw + mul_up(raw, _MAX_POW_RELATIVE_ERROR) + 1)


def power(base: int, exponent: int) -> int:
    """Returns `base` to the `exponent`, both with 18 decimals. Source: LogExpMath.pow."""
    if not exponent:
        return ONE
    if not base:
        return 0
    if base >> 255 or exponent >= _MILD_EXPONENT_BOUND:
        raise OverflowError("base or exponent out of bounds")
    if 9 * ONE // 10 < base < 11 * ONE // 10:
        log_36 = _ln_36(base)
        whole = _truncated(log_36, ONE)
        product = whole * exponent + _truncated((log_36 - whole * ONE) * exponent, ONE)
    else:
        product = _ln(base) * exponent
    product = _truncated(product, ONE)
    if not _MIN_EXPONENT <= product <= _MAX_EXPONENT:
        raise OverflowError("product out of bounds")
    return _exp(product)


def _exp(x: int) -> int:
    """Returns e^x, both with 18 decimals. Source: LogExpMath.exp."""
    if x < 0:
        return ONE * ONE // _exp(-x)
    first = 1
    for exponent, value in _LARGE_POWERS:
        if x >= exponent:
            x -= exponent
            first = value
            break
    x *= 100
    product = _ONE_20
    for exponent, value in _EXP_POWERS:
        if x >= exponent:
            x -= exponent
            product = product * value // _ONE_20
    series = term = _ONE_20
    for n in range(1, 13):
        term = term * x // _ONE_20 // n
        series += term
    return product * series // _ONE_20 * first // 100


def _ln(a: int) -> int:
    """Returns the natural logarithm, with 18 decimals. Source: LogExpMath._ln."""
    if a < ONE:
        return -_ln(ONE * ONE // a)
    total = 0
    for exponent, value in _LARGE_POWERS:
        if a >= value * ONE:
            a //= value
            total += exponent
    total *= 100
    a *= 100
    for exponent, value in _POWERS:
        if a >= value:
            a = a * _ONE_20 // value
            total += exponent
    # Of 1 and above: nothing here is negative.
    z = (a - _ONE_20) * _ONE_20 // (a + _ONE_20)
    return (total + 2 * _artanh(z, _ONE_20, 11)) // 100


def _ln_36(x: int) -> int:
    """Returns the natural logarithm of a number near 1, with 36 decimals. Source: LogExpMath._ln_36."""
    x *= ONE
    return 2 * _artanh(_truncated((x - _ONE_36) * _ONE_36, x + _ONE_36), _ONE_36, 15)


def _artanh(z: int, one: int, last: int) -> int:
    """Returns z + z^3/3 + ... + z^last/last, each term cut off towards zero."""
    square = z * z // one
    series = term = z
    for n in range(3, last + 1, 2):
        term = _truncated(term * square, one)
        series += _truncated(term, n)
    return series


def _truncated(numerator: int, denominator: int) -> int:
    """Returns the quotient rounded towards zero, as signed division in Solidity."""
    quotient = abs(numerator) // denominator
    return quotient if numerator >= 0 else -quotient
