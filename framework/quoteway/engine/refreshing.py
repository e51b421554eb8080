"""Quotes a swap again: within the terms of its first quote, or to compare with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from quoteway import models
from quoteway.engine.quoting import QuoteAnswer, Quoting
from quoteway.errors import InvalidRequest, Reason


@dataclass(frozen=True, slots=True)
class Refreshing:
    """Makes new quotes of the sealed ones of one gateway."""

    quoting: Quoting

    async def refresh(self, sealed: models.SealedQuote, *, acknowledged: Iterable[str] = ()) -> QuoteAnswer:
        """Returns the best quote now for the request of a quote with ``refresh_terms``, within these.

        ``acknowledged`` codes count beside those of the quote. Raises as ``Quoting.quote``. An
        ``InvalidRequest`` says what of the request is not allowed any more; ``price_moved``
        (``OutsideTerms``): no quote is within the terms.
        """
        assert sealed.refresh_terms is not None
        return await self._again(sealed, tuple(dict.fromkeys((*sealed.acknowledged, *acknowledged))))

    async def compare(self, sealed: models.SealedQuote) -> QuoteAnswer:
        """Returns the best quote now for the request of any quote of a swap.

        Within its terms where it has ``refresh_terms``. A quote without parts is compared with such quotes
        alone. Raises as ``refresh``.
        """
        return await self._again(sealed, sealed.acknowledged)

    async def _again(self, sealed: models.SealedQuote, acknowledged: tuple[str, ...]) -> QuoteAnswer:
        terms, request, in_parts = sealed.refresh_terms, sealed.request, bool(sealed.parts)
        assert isinstance(request, models.SwapRequest)
        provider = None if terms is None else terms.provider
        # Before its tokens are read: the network may be gone.
        self.quoting.candidates(
            sealed.capability,
            request.chain_id,
            request.to_chain_id,
            provider=provider,
            atomic_batch=in_parts,
        )
        try:
            return await self.quoting.quote(
                sealed.capability,
                await self._with_tokens_of_now(request),
                provider=provider,
                atomic_batch=in_parts,
                divides=in_parts and not request.is_cross_chain,
                acknowledged=acknowledged,
                deadline=sealed.deadline,
                chooses_slippage=terms is not None and terms.chooses_slippage,
                within=terms,
            )
        except InvalidRequest as error:
            # The refused members are those of the first request, and no members of this one.
            text = f"The quote can no longer be refreshed: request a new one. {error.message}"
            raise InvalidRequest(
                text, reason=error.reason, attempts=error.attempts, limit=error.limit
            ) from error

    async def _with_tokens_of_now(self, request: models.SwapRequest) -> models.SwapRequest:
        """Returns the request with what the gateway knows of its tokens now.

        Raises ``InvalidRequest`` for a token that is none any more, has other decimals, or was taken off the
        lists.
        """
        asked = {"fromToken": request.token_in, "toToken": request.token_out}
        answers = await asyncio.gather(
            *(self.quoting.tokens.find_all(each.chain_id, [each.address]) for each in asked.values())
        )
        found: list[models.Token] = []
        for (name, before), answer in zip(asked.items(), answers, strict=True):
            now = answer.get(before.address)
            if now is None or now.unit != before.unit:
                raise _refused(f"{name} is not the token any more that was quoted.")
            if before.listed and not now.listed:
                raise _refused(f"{name} was listed when it was quoted, and is on no list of the gateway now.")
            found.append(now)
        token_in, token_out = found
        return replace(request, token_in=token_in, token_out=token_out)


def _refused(text: str) -> InvalidRequest:
    return InvalidRequest(text, reason=Reason.UNSUPPORTED_TOKEN)
