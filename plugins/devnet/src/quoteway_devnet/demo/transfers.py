"""A transfer to the other chain: deposited on one, followed, and measured where it arrives."""

import time
from collections.abc import Mapping

from quoteway_devnet import abi
from quoteway_devnet.demo.desk import Answer, Desk, Move, Operated, listed
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import PART_OF_BALANCE
from quoteway_devnet.demo.scenarios import CrossingTour
from quoteway_devnet.manifest import chain_manifests
from quoteway_devnet.tables import NATIVE

_POLL_S = 0.1
_TIMEOUT_S = 30.0
_UNDER_WAY = ("unknown", "origin_pending", "origin_confirmed", "fill_pending")


def cross(desks: Mapping[str, Desk], tour: CrossingTour) -> Operated:
    """Quote, deposit, follow, measure on both chains. Raises DemoError."""
    near, far = desks[tour.origin], desks[tour.target]
    token_in = _address(tour.origin, tour.sells)
    token_out = _address(tour.target, tour.buys or tour.sells)
    body = {
        "fromChain": tour.origin,
        "toChain": tour.target,
        "fromToken": token_in,
        "toToken": token_out,
        "amount": str(near.wallet.balance(token_in) // PART_OF_BALANCE),
        "address": near.wallet.address,
    }
    path = "/v2/swaps" if tour.buys else "/v2/bridges"
    quote = near.quote(f"{path}/quote", body)
    # What arrives, what is given, and what a swap on the way leaves over.
    legs = [(near, leg, -1) for leg in quote["inputs"]]
    legs += [(far if leg["token"]["network"] == tour.target else near, leg, 1) for leg in quote["outputs"]]
    held = [desk.wallet.balance(leg["token"]["address"]) for desk, leg, _ in legs]
    action = near.gateway.post(f"{path}/{quote['quoteId']}/action")
    sent = near.execute(action)
    _follow(near, action["steps"][-1]["txId"], sent[-1].identity)
    gas_wei = sum(one.gas_wei for one in sent)
    moves = []
    for (desk, leg, sign), before in zip(legs, held, strict=True):
        moved = desk.wallet.balance(leg["token"]["address"]) - before
        if desk is near and leg["token"]["isNative"]:
            # Gas comes out of the native balance too: it is not given to the bridge.
            moved += gas_wei
        moves.append(Move(listed(leg["token"]), leg["account"], sign * int(leg["amount"]), moved))
    operated = Operated(tour.title, tuple(moves), len(sent), sum(one.gas_used for one in sent))
    near.tell.operated(operated)
    return operated


def _follow(desk: Desk, tx_id: str, transaction: str) -> None:
    """Until the gateway says that the transfer has arrived. Raises DemoError when it does not."""
    status, deadline = "", time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        answer: Answer = desk.gateway.get(f"/v2/transactions/{tx_id}?hash={transaction}")
        if answer["status"] != status:
            status = answer["status"]
            desk.tell.say(f"   transfer  {status}", "green" if status == "filled" else "")
        # anvil shows a fill in its newest state some milliseconds before it is in a block.
        if status == "filled" and answer["fillHash"] is not None:
            return
        if status not in (*_UNDER_WAY, "filled"):
            break
        time.sleep(_POLL_S)
    raise DemoError(
        f"The transfer is {status}; is the devnet's relayer running? `quoteway devnet` starts it too."
    )


def _address(slug: str, symbol: str) -> str:
    return abi.ZERO_ADDRESS if symbol == NATIVE else chain_manifests()[slug].token(symbol).address
