"""The tokens that words of a command mean, and what to know of them before they are traded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quoteway_client.commands.asking import Asking
from quoteway_client.commands.text import harmless, symbol
from quoteway_client.comparing import same_address
from quoteway_client.errors import ApiError, NotFound, QuoteMismatch, QuotewayError
from quoteway_client.models.shared import TokenRef
from quoteway_client.operations.prices import get_prices
from quoteway_client.operations.tokens import get_token, list_tokens


def tokens_named(gateway: Asking, network: str, words: Sequence[str]) -> list[TokenRef]:
    """Returns the tokens that the gateway finds for symbols or addresses, in their order.

    Raises ``QuotewayError`` for what is no token, and for words that mean one token twice; ``QuoteMismatch``
    when the token of an address has another one.
    """
    found = gateway.answer(get_prices(network=network, tokens=list(words))).model
    for each in found.partial:
        raise QuotewayError(f"{each.token} is no token of {network} ({each.reason}). Check the address")
    if len(found.data) != len(words):
        raise QuotewayError("both words mean one token. Name two tokens")
    tokens = [each.token for each in found.data]
    named = zip(words, tokens, strict=True)
    differing = [each for word, token in named for each in same_address("token", word, token.address)]
    if differing:
        raise QuoteMismatch(differing)
    return tokens


def known_tokens(gateway: Asking, network: str, addresses: Sequence[str]) -> dict[str, TokenRef]:
    """Returns what the gateway knows of tokens, by lower-case address; nothing where it gives no answer."""
    if not addresses:
        return {}
    try:
        found = gateway.answer(get_prices(network=network, tokens=list(addresses))).model.data
    except QuotewayError:
        return {}
    return {each.token.address.lower(): each.token for each in found}


def warnings_of(gateway: Asking, token: TokenRef) -> Iterator[str]:
    """Yields a sentence for a token that no catalog lists, and for one whose symbol is another's too."""
    try:
        profile = gateway.answer(get_token(f"{token.chain_id}:{token.address}")).model
        listed, like = profile.listed, profile.look_alike_of
    except NotFound:
        listed, like = False, None
    if not listed:
        yield f"{symbol(token)} is listed by no catalog: anyone can give a contract this symbol"
    if like is not None:
        yield f"the symbol of {symbol(token)} looks the same as that of the token {harmless(like, 60)}"
    for other in _of_the_same_symbol(gateway, token):
        yield f"another listed token has the symbol {symbol(token)}: {other}"


def token_address(token: TokenRef) -> str:
    """Returns the address of a token for a line."""
    return harmless(token.address, 66)


def _of_the_same_symbol(gateway: Asking, token: TokenRef) -> Iterator[str]:
    if not token.symbol or not token.symbol.isascii():
        return
    try:
        page = gateway.answer(list_tokens(network=token.network, query=token.symbol)).model
    except ApiError:
        return
    for row in page.data:
        for contract in row.contracts if row.symbol.lower() == token.symbol.lower() else ():
            if contract.chain_id == token.chain_id and contract.address.lower() != token.address.lower():
                yield harmless(f"{contract.address}, {row.name}", 120)
