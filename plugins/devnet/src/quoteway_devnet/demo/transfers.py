"""Transfers to the other chain: deposit, track, and measure balances on both chains."""

import time
from collections.abc import Mapping

from quoteway import NATIVE

from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import PART_OF_BALANCE
from quoteway_devnet.demo.scenarios import TransferScenario
from quoteway_devnet.demo.session import Answer, BalanceChange, OperationResult, Session, listed
from quoteway_devnet.manifest import chain_manifests
from quoteway_devnet.tables import NATIVE_SYMBOL

_POLL_S = 0.1
_TIMEOUT_S = 30.0
_IN_PROGRESS = ("unknown", "origin_pending", "origin_confirmed", "fill_pending")


def transfer(sessions: Mapping[str, Session], scenario: TransferScenario) -> OperationResult:
    """Quote, deposit, track and measure a transfer. Raises DemoError."""
    near, far = sessions[scenario.origin], sessions[scenario.target]
    token_in = _address(scenario.origin, scenario.sells)
    token_out = _address(scenario.target, scenario.buys or scenario.sells)
    body = {
        "fromChain": scenario.origin,
        "toChain": scenario.target,
        "fromToken": token_in,
        "toToken": token_out,
        "amount": str(near.wallet.balance(token_in) // PART_OF_BALANCE),
        "address": near.wallet.address,
    }
    path = "/v2/swaps" if scenario.buys else "/v2/bridges"
    quote = near.quote(f"{path}/quote", body)
    # The inputs, and the outputs on both chains: a swap before the bridge may leave a rest.
    legs = [(near, leg, -1) for leg in quote["inputs"]]
    legs += [
        (far if leg["token"]["network"] == scenario.target else near, leg, 1) for leg in quote["outputs"]
    ]
    held = [session.wallet.balance(leg["token"]["address"]) for session, leg, _ in legs]
    action = near.gateway.post(f"{path}/{quote['quoteId']}/action")
    sent = near.execute(action)
    _track(near, action["steps"][-1]["txId"], sent[-1].identity)
    gas_wei = sum(one.gas_wei for one in sent)
    moves = []
    for (session, leg, sign), before in zip(legs, held, strict=True):
        moved = session.wallet.balance(leg["token"]["address"]) - before
        if session is near and leg["token"]["isNative"]:
            # The native balance also pays the gas, which is not part of the transfer.
            moved += gas_wei
        moves.append(BalanceChange(listed(leg["token"]), leg["account"], sign * int(leg["amount"]), moved))
    operated = OperationResult(scenario.title, tuple(moves), len(sent), sum(one.gas_used for one in sent))
    near.reporter.operated(operated)
    return operated


def _track(session: Session, tx_id: str, transaction: str) -> None:
    """Wait until the gateway reports the transfer as filled. Raises DemoError."""
    status, deadline = "", time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        answer: Answer = session.gateway.get(f"/v2/transactions/{tx_id}?hash={transaction}")
        if answer["status"] != status:
            status = answer["status"]
            session.reporter.say(f"   transfer  {status}", "green" if status == "filled" else "")
        # anvil shows a fill in its newest state some milliseconds before it is in a block.
        if status == "filled" and answer["fillHash"] is not None:
            return
        if status not in (*_IN_PROGRESS, "filled"):
            break
        time.sleep(_POLL_S)
    raise DemoError(
        f"The transfer is {status}; is the devnet's relayer running? `quoteway devnet` starts it too."
    )


def _address(slug: str, symbol: str) -> str:
    return NATIVE if symbol == NATIVE_SYMBOL else chain_manifests()[slug].token(symbol).address
