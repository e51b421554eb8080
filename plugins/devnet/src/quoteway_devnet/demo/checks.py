"""Checks ``submit-hash`` with sent transactions, and the portfolio with the node."""

from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import PART_OF_BALANCE
from quoteway_devnet.demo.session import (
    Answer,
    BalanceChange,
    OperationResult,
    Session,
    block_of,
    expected_of,
    listed,
)
from quoteway_devnet.demo.wallet import Sent

_WORD_HEX = 64
_UNLIMITED = "f" * _WORD_HEX


def check_submit_hash(session: Session, vault: Answer) -> OperationResult:
    """Deposit after sending an altered approval without a limit, as an attacker would.

    Raises DemoError when ``submit-hash`` does not tell the two approvals apart.
    """
    path, asset = f"/v2/vaults/{vault['id']}", vault["asset"]
    body = {
        "action": "deposit",
        "address": session.wallet.address,
        "asset": asset["address"],
        "amount": str(session.wallet.balance(asset["address"]) // PART_OF_BALANCE),
    }
    quote = session.quote(f"{path}/quote", body)
    action = session.gateway.post(f"{path}/action", body | {"quoteId": quote["quoteId"]})
    approval = action["transactions"][0]
    tampered = approval | {"data": approval["data"][:-_WORD_HEX] + _UNLIMITED}
    step = action["steps"][0]
    session.reporter.say(f"   tampered  {step['clearSigning']['intent']}: signed with an unlimited amount")
    _report(session, step, session.wallet.send(tampered, step["gasLimit"]), "mismatch", ["data"])

    expected = expected_of(quote)
    before = {place: session.wallet.balance(place[1].address, place[0]) for place in expected}
    sent = session.execute(action)
    for step, one in zip(action["steps"], sent, strict=True):
        _report(session, step, one, "match", [])
    moves = (
        BalanceChange(
            token, account, quoted, session.wallet.balance(token.address, account) - before[account, token]
        )
        for (account, token), quoted in expected.items()
    )
    operated = OperationResult(
        "deposit, reported", tuple(moves), len(sent) + 1, sum(one.gas_used for one in sent)
    )
    session.reporter.operated(operated)
    return operated


def _report(session: Session, step: Answer, sent: Sent, match: str, members: list[str]) -> None:
    report = session.gateway.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": sent.identity})
    found = [row["member"] for row in report["differences"]]
    if (report["match"], found) != (match, members):
        raise DemoError(
            f"submit-hash says {report['match']} ({', '.join(found) or 'no differences'}) about "
            f"{step['kind']}, "
            f"expected {match} ({', '.join(members) or 'none'}); please report it."
        )
    differing = f": {', '.join(found)} differ" if found else ""
    realized = report["realized"]["vsQuoteBps"]
    beside = "" if realized is None else f", {realized} bps beside the quote"
    style = "yellow" if found else "green"
    session.reporter.say(f"   hash      {step['kind']} {match}{differing}; {report['status']}{beside}", style)


def check_portfolio(session: Session) -> OperationResult:
    """Compare balances and positions of the account with the node. Raises DemoError."""
    slug, wallet = session.node.slug, session.wallet
    query = f"wallet={wallet.address}&network={slug}"
    session.await_head()
    balances = session.gateway.get(f"/v2/portfolio/balances?{query}")
    block, moves = block_of(balances), []
    for row in balances["data"]:
        token = listed(row["token"])
        moves.append(BalanceChange(token, wallet.address, int(row["amount"]), wallet.balance(token.address)))
    total = "unknown" if balances["totalUsd"] is None else f"${balances['totalUsd']:,.2f}"
    session.reporter.say(
        f"   balances  {len(moves)} at block {block}, worth {total}, "
        f"difference {sum(abs(move.difference) for move in moves)}"
    )
    positions = session.gateway.get(f"/v2/portfolio/positions?{query}&limit=200")
    for left_out in positions["partial"]:
        raise DemoError(f"The portfolio lacks {left_out['provider']}: {left_out['reason']}; try again.")
    for row in positions["data"]:
        where = row["poolId"] or row["vaultId"]
        value = "value unknown" if row["valueUsd"] is None else f"${row['valueUsd']:,.2f}"
        session.reporter.say(f"   {row['provider']}: {row['kind']} {where}, {value}")
        session.reporter.position(row)
        if row["vaultId"] is not None:
            # A vault's position is the balance of its share token.
            share = row["vaultId"].partition(":")[2]
            token = listed({"address": share, "symbol": "shares", "decimals": 0})
            moves.append(BalanceChange(token, wallet.address, int(row["liquidity"]), wallet.balance(share)))
    return OperationResult("portfolio", tuple(moves), 0, 0)
