"""Gives the tokens of providers' answers the labels of the core, and warns about tokens that nobody lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from quoteway import models
from quoteway.evm.token_text import display_name
from quoteway.host.token_directory import TokenDirectory

Labels = Mapping[tuple[int, models.Address], models.Token]
"""The core's tokens by chain id and address."""


def labels_of(tokens: Iterable[models.Token]) -> Labels:
    """Returns the tokens by chain id and address."""
    return {(token.chain_id, token.address): token for token in tokens}


def labelled(legs: Iterable[models.Leg], labels: Labels) -> tuple[models.Leg, ...]:
    """Returns legs with the core's symbols and names in place of the provider's."""
    return tuple(replace(leg, token=_labelled(leg.token, labels)) for leg in legs)


def labelled_quote(quote: models.Quote, labels: Labels) -> models.Quote:
    """Returns a quote with the core's symbols and names in place of the provider's."""
    terms = quote.terms
    if isinstance(terms, models.VaultTerms):
        asset, share = _labelled(terms.asset, labels), _labelled(terms.share, labels)
        terms = replace(terms, asset=asset, share=share)
    elif isinstance(terms, models.PoolTerms) and terms.dependent is not None:
        (dependent,) = labelled([terms.dependent], labels)
        terms = replace(terms, dependent=dependent)
    return replace(
        quote,
        inputs=labelled(quote.inputs, labels),
        outputs=labelled(quote.outputs, labels),
        fees=tuple(replace(fee, token=_labelled(fee.token, labels)) for fee in quote.fees),
        terms=terms,
    )


def _labelled(token: models.Token, labels: Labels) -> models.Token:
    known = labels.get((token.chain_id, token.address))
    if known is None:
        return replace(token, listed=False)
    return replace(known, price_usd=token.price_usd)


async def token_warnings(
    tokens: TokenDirectory, request: models.Request, quote: models.Quote
) -> tuple[models.Notice, ...]:
    """Returns a warning for each token of a quote that no catalog lists or whose symbol another one has.

    The shares of the pool or vault that the caller named are left out: no catalog lists them.
    """
    named = _resource(request)
    legs = (*quote.inputs, *quote.outputs)
    warnings: list[models.Notice] = []
    for token in labels_of(leg.token for leg in legs).values():
        if token.is_native or token.address == named:
            continue
        if not token.listed:
            warnings.append(
                models.Notice(
                    "unlisted_token",
                    f"No token list of this deployment has {display_name(token)}. Check the address: anyone "
                    "can make a token with any symbol.",
                )
            )
        other = await tokens.look_alike(token)
        if other is not None:
            place = "the native coin" if other.is_native else f"the listed token {other.address}"
            warnings.append(
                models.Notice(
                    "symbol_clash",
                    f"The symbol of {token.address} is or looks like that of {place}: they are two tokens.",
                )
            )
    return tuple(warnings)


def _resource(request: models.Request) -> models.Address | None:
    """Returns the address of the pool or vault that a request names."""
    if isinstance(request, models.PoolRequest):
        return request.pool_id.partition(":")[2]
    if isinstance(request, models.VaultRequest | models.ManageRequest):
        return request.vault_id.partition(":")[2]
    return None
