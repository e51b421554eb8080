"""Builds the action of a quote: the request follows from the quote, and the answer is compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias, Unpack

from quoteway_client.calls import Call, segment
from quoteway_client.comparing import compare_action
from quoteway_client.models.bridges import BridgeAction, BridgeQuote
from quoteway_client.models.pools import PoolActionBody, PoolQuote
from quoteway_client.models.shared import Action, ConsentBody
from quoteway_client.models.swaps import SwapQuote
from quoteway_client.models.vaults import DeployAction, DeployQuote, ManageAction, VaultActionBody, VaultQuote

AnyQuote: TypeAlias = SwapQuote | BridgeQuote | PoolQuote | VaultQuote | DeployQuote
AnyAction: TypeAlias = Action | BridgeAction | DeployAction | ManageAction


def act_swap(quote: SwapQuote, **consent: Unpack[ConsentBody]) -> Call[Action]:
    """Unsigned transactions for a quote, compared with it.

    ``acknowledge`` names the codes of ``quote.acknowledgement_needed`` that are accepted: none is by itself.
    Raises ``ActionMismatch`` when the action is not what was quoted.
    """
    path = f"/v2/swaps/{segment(quote.quote_id)}/action"
    return Call("POST", path, Action, body=consent, check=partial(compare_action, quote=quote))


def act_bridge(quote: BridgeQuote, **consent: Unpack[ConsentBody]) -> Call[BridgeAction]:
    """Unsigned transactions for a quote of a transfer, compared with it.

    ``acknowledge`` names the codes of ``quote.acknowledgement_needed`` that are accepted: none is by itself.
    Raises ``ActionMismatch`` when the action is not what was quoted.
    """
    path = f"/v2/bridges/{segment(quote.quote_id)}/action"
    return Call("POST", path, BridgeAction, body=consent, check=partial(compare_action, quote=quote))


def act_pool(quote: PoolQuote, **consent: Unpack[ConsentBody]) -> Call[Action]:
    """Unsigned transactions for a quote of liquidity, compared with it.

    ``acknowledge`` names the codes of ``quote.acknowledgement_needed`` that are accepted: none is by itself.
    Raises ``ActionMismatch`` when the action is not what was quoted.
    """
    body = _request(quote, PoolActionBody.__annotations__) | dict(consent)
    if quote.request.action == "collect":  # counts no amount of an asset
        del body["asset"], body["amount"]
    path = f"/v2/pools/{segment(quote.request.pool_id)}/action"
    return Call("POST", path, Action, body=body, check=partial(compare_action, quote=quote))


def act_vault(quote: VaultQuote, **consent: Unpack[ConsentBody]) -> Call[Action]:
    """Unsigned transactions for a quote of a vault, compared with it.

    ``acknowledge`` names the codes of ``quote.acknowledgement_needed`` that are accepted: none is by itself.
    Raises ``ActionMismatch`` when the action is not what was quoted.
    """
    body = _request(quote, VaultActionBody.__annotations__) | dict(consent)
    if quote.request.amount is None:  # the echo of `max`
        body["amount"] = "max"
    path = f"/v2/vaults/{segment(quote.request.vault_id)}/action"
    return Call("POST", path, Action, body=body, check=partial(compare_action, quote=quote))


def _request(quote: PoolQuote | VaultQuote, members: Mapping[str, Any]) -> dict[str, Any]:
    """The request that a quote echoes, as a body that takes ``members``."""
    echo = quote.request
    known = {name: getattr(echo, name) for name in echo.__struct_fields__ if name in members}
    return known | {"quote_id": quote.quote_id}
