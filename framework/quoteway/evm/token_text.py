"""Symbols and names of tokens: which of them are shown, and which symbols look alike.

Anyone can give a token any text, and a signer reads it inside a sentence. What could be read as a part of the
sentence, as markup or as another token's symbol is not shown.
"""

from __future__ import annotations

import re
import unicodedata

from quoteway.models import Token

MAX_SYMBOL_CHARS = 16
"""Of a symbol that only the token's contract gives."""
MAX_LISTED_SYMBOL_CHARS = 20
"""Of a symbol that a catalog gives, as in the JSON schema of Token Lists."""
MAX_NAME_CHARS = 128

# U+20AE, the tugrik sign, is in the symbol of Tether on some chains.
_SYMBOL = re.compile(r"[A-Za-z0-9.\-_$+\u20ae]+")
_NAME = re.compile(r"[\x20-\x7e\u20ae]+")
_MARKUP = re.compile(r"[<>\[\]{}`\\]|://")

# Signs that look like a Latin letter, after case folding. Unicode's own list (UTS #39, confusables.txt) is
# not in the standard library: these are those of Cyrillic, Greek and Armenian, and the digits.
_LOOK_ALIKES = {
    "a": "\u0430\u03b1\u0251",
    "b": "\u0432\u03b28",
    "c": "\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0435\u03b5",
    "g": "\u0581\u0261",
    "h": "\u043d\u03b7\u04bb",
    "i": "\u0456\u03b9\u04cf1l|",
    "j": "\u0458\u03f3",
    "k": "\u043a\u03ba",
    "m": "\u043c\u03bc",
    "n": "\u03bd\u0578",
    "o": "\u043e\u03bf\u05850",
    "p": "\u0440\u03c1",
    "q": "\u051b",
    "s": "\u04555",
    "t": "\u0442\u03c4\u20ae",
    "u": "\u057d",
    "w": "\u051d",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03c5\u04af",
    "z": "\u03b6",
}
_TO_LATIN = str.maketrans({sign: latin for latin, signs in _LOOK_ALIKES.items() for sign in signs})


def shown_symbol(text: str | None, max_chars: int = MAX_SYMBOL_CHARS) -> str | None:
    """Returns a symbol that may be shown, else None.

    It has at most ``max_chars`` ASCII letters, digits and signs of ``.-_$+`` or U+20AE.
    """
    return text if text and len(text) <= max_chars and _SYMBOL.fullmatch(text) else None


def shown_name(text: str | None) -> str | None:
    """Returns a name that may be shown: printable ASCII or U+20AE without markup and links; else None."""
    stripped = (text or "").strip()
    if not 0 < len(stripped) <= MAX_NAME_CHARS or _MARKUP.search(stripped):
        return None
    return stripped if _NAME.fullmatch(stripped) else None


def display_name(token: Token) -> str:
    """Returns what a sentence calls a token: the symbol of the coin and of a listed token, of others the
    quoted symbol and the address.

    A token without a symbol that may be shown is called by its address.
    """
    if token.listed or token.is_native:
        return shown_symbol(token.symbol, MAX_LISTED_SYMBOL_CHARS) or token.address
    symbol = shown_symbol(token.symbol)
    return f'"{symbol}" ({token.address})' if symbol else token.address


def folded(symbol: str) -> str:
    """Returns a symbol after NFKC and case folding, to compare with others."""
    return unicodedata.normalize("NFKC", symbol).casefold()


def skeleton(symbol: str) -> str:
    """Returns what symbols that look alike have in common, to compare with others: ``$U\u0405DC`` gives
    ``usdc``. Accents, punctuation and invisible characters do not count. Empty for a symbol without letters.
    """
    if symbol.isascii():
        return symbol.translate(_ASCII_SKELETON)
    latin = unicodedata.normalize("NFKD", folded(symbol)).translate(_TO_LATIN)
    return "".join(filter(_counts, latin))


def _counts(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LN"


_ASCII_SKELETON = {
    ord(sign): sign.casefold().translate(_TO_LATIN) if _counts(sign) else None
    for sign in map(chr, range(128))
}
