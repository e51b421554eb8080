"""A minimum divided among paths."""

from hypothesis import given
from hypothesis import strategies as st
from quoteway_balancer.batch_router import shares_of

amounts = st.integers(0, 10**30)


@given(st.lists(amounts, min_size=1, max_size=8), st.integers(0, 10_000))
def test_no_share_exceeds_its_part_of_what_suffices(parts, share):
    amount = sum(parts) * share // 10_000
    shares = shares_of(amount, parts)
    assert sum(shares) == amount
    assert all(0 <= mine <= part for mine, part in zip(shares, parts, strict=True))


@given(st.lists(amounts, min_size=1, max_size=8), amounts)
def test_the_whole_amount_is_always_kept(parts, amount):
    shares = shares_of(amount, parts)
    assert sum(shares) == amount
    assert min(shares) >= 0


def test_shares_are_as_the_parts():
    assert shares_of(100, [300, 100]) == [75, 25]
    assert shares_of(2, [1, 1, 1]) == [1, 1, 0]
