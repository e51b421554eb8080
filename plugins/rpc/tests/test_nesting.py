"""What is too deep or too many is refused before it is parsed, wherever the text is cut into pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway_rpc.nesting import MAX_CONTAINERS, Nesting, UnreadableError

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}"\\aé', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('[{"\\', max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def accepts(text, most, size):
    nesting = Nesting(depth=most)
    try:
        for at in range(0, len(text), size):
            nesting.add(text[at : at + size])
    except UnreadableError as error:
        return error.kind != "too_deep"
    return True


@given(value=VALUES, size=st.integers(1, 40), limit=st.integers(0, 6))
def test_the_depth_is_that_of_the_parsed_value(value, size, limit):
    text = json.dumps(value, ensure_ascii=False).encode()
    if depth(value) <= limit:
        assert accepts(text, limit, size)
    elif depth(value) > 2 * limit:
        assert not accepts(text, limit, size)


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize("levels", [66, 300, 100_000])
def test_a_tower_is_too_deep(levels, size):
    for opening in (b"[", b'{"a":', b'["[",'):
        assert not accepts(opening * levels, 64, size)
    if levels > 128:
        assert not accepts(b"[" * levels + b"]" * levels, 64, size)


def test_brackets_in_texts_do_not_hide_the_depth():
    tower = b"".join(b'["]",' for _ in range(130)) + b"1" + b"]" * 130
    assert json.loads(tower)
    assert not accepts(tower, 64, 16)
    assert not accepts(rb'["\"]",' * 130 + b"1" + b"]" * 130, 64, 5)
    assert not accepts(rb'["\\",' * 130 + b"1" + b"]" * 130, 64, 5)


def test_a_wide_text_is_refused_early():
    nesting, piece = Nesting(), b"[],[],[],[]," * 5_000
    for _ in range(MAX_CONTAINERS // 20_000):
        nesting.add(piece)
    with pytest.raises(UnreadableError, match="too_many_members"):
        nesting.add(piece)
