"""What spenders may take of a wallet, and the transactions that end it, on the devnet's real contracts."""

import pytest
from portfolio_gateway import address
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import function
from quoteway.models import MAX_UINT256
from quoteway.testing.fakes import FixedRateSwap
from quoteway_devnet.accounts import ACCOUNTS

WALLET = ACCOUNTS[5].address
ROUTER, STRANGER = address(0x70), address(0x57)
PATH = "/v2/portfolio/approvals"
REVERTS = "0x60006000fd"
LATER = 2**48 - 1
"""The latest expiration there is: after the year 8,900,000."""


class Spender(FixedRateSwap):
    """A provider that spends through Permit2, as Uniswap does."""

    def contracts(self, chain_id):
        return {ROUTER: "Toy router"}

    def spenders(self, chain_id):
        return (permit2.ADDRESS, ROUTER)


class Wallet:
    """A wallet of the devnet that grants, and sends what the gateway gives it."""

    def __init__(self, devnet, portfolio):
        self.devnet, self.portfolio = devnet, portfolio

    def send(self, to, data, value="0x0"):
        with self.devnet.rpc() as rpc:
            call = {"from": WALLET, "to": to, "data": data, "value": value, "gas": hex(500_000)}
            sent = rpc("eth_sendTransaction", call)
            while (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
                pass
            assert receipt["status"] == "0x1"
        return sent

    def approve(self, symbol, spender, amount):
        token = self.portfolio.token(symbol).address
        self.send(token, "0x" + erc20.APPROVE.encode([spender, amount]).hex())
        return token

    def approve_through_permit2(self, symbol, spender, amount, expiration):
        token = self.portfolio.token(symbol).address
        data = permit2.APPROVE.encode([token, spender, amount, expiration])
        self.send(permit2.ADDRESS, "0x" + data.hex())
        return token

    def allowance(self, token, spender):
        with self.devnet.rpc() as rpc:
            data = "0x" + erc20.ALLOWANCE.encode([WALLET, spender]).hex()
            return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    def permit2_allowance(self, token, spender):
        with self.devnet.rpc() as rpc:
            data = "0x" + permit2.ALLOWANCE.encode([WALLET, token, spender]).hex()
            return int(rpc("eth_call", {"to": permit2.ADDRESS, "data": data}, "latest")[2:66], 16)


@pytest.fixture
def wallet(fresh_devnet, portfolio):
    return Wallet(fresh_devnet, portfolio)


@pytest.fixture
async def api(serve_app, portfolio):
    return await portfolio.serve(serve_app, Spender)


async def approvals(api, contract, query=""):
    answer = await api.get(f"{PATH}?wallet={WALLET}&network=devnet{query}")
    assert answer.headers["Cache-Control"] == "no-store"
    return contract.check("getPortfolioApprovals", answer)


def told(body):
    """The rows by kind, token and spender."""
    return {(row["kind"], row["token"]["address"], row["spender"]): row for row in body["data"]}


async def test_a_wallet_that_granted_nothing(api, contract):
    body = await approvals(api, contract)
    assert (body["wallet"], body["data"], body["partial"]) == (WALLET, [], [])
    assert [row["chainId"] for row in body["asOf"]] == [31337]


async def test_what_known_and_unknown_spenders_may_take(api, wallet, contract):
    usdc = wallet.approve("USDC", ROUTER, 5 * 10**6)
    wallet.approve("USDC", permit2.ADDRESS, MAX_UINT256)
    wallet.approve_through_permit2("USDC", ROUTER, permit2.MAX_AMOUNT, LATER)
    weth = wallet.approve("WETH", STRANGER, 7)
    body = await approvals(api, contract)
    rows = told(body)
    assert set(rows) == {
        ("erc20", usdc, ROUTER),
        ("erc20", usdc, permit2.ADDRESS),
        ("permit2", usdc, ROUTER),
        ("erc20", weth, STRANGER),
    }
    plain = rows["erc20", usdc, ROUTER]
    assert (plain["amount"], plain["unlimited"], plain["expiration"]) == (str(5 * 10**6), False, None)
    assert (plain["label"], plain["listed"], plain["token"]["symbol"]) == ("Toy router", True, "USDC")
    whole = rows["erc20", usdc, permit2.ADDRESS]
    assert (whole["amount"], whole["unlimited"], whole["label"]) == (str(MAX_UINT256), True, "Permit2")
    pulled = rows["permit2", usdc, ROUTER]
    assert (pulled["amount"], pulled["expiration"]) == (str(permit2.MAX_AMOUNT), LATER)
    assert pulled["unlimited"] is True
    unknown = rows["erc20", weth, STRANGER]  # from the logs
    assert (unknown["amount"], unknown["label"]) == ("7", None)
    assert body["partial"] == []


async def test_what_is_used_up_or_expired_is_not_shown(api, wallet, contract):
    wallet.approve("USDC", STRANGER, 9)
    wallet.approve("USDC", STRANGER, 0)
    wallet.approve_through_permit2("USDC", ROUTER, 9, 1)
    assert (await approvals(api, contract))["data"] == []


async def test_a_token_that_no_list_has(serve_app, portfolio, wallet, contract):
    api = await portfolio.serve(serve_app, Spender, listed=("WETH",))
    usdc = wallet.approve("USDC", ROUTER, 3)
    row = told(await approvals(api, contract))["erc20", usdc, ROUTER]
    assert (row["listed"], row["token"]["decimals"]) == (False, 6)


async def test_the_tokens_may_be_named(api, wallet, contract):
    usdc, weth = wallet.approve("USDC", ROUTER, 3), wallet.approve("WETH", ROUTER, 4)
    body = await approvals(api, contract, f"&tokens={weth}")
    assert list(told(body)) == [("erc20", weth, ROUTER)]
    assert usdc not in str(body["data"])


async def test_a_token_that_cannot_be_read_is_named(api, wallet, portfolio, contract):
    usdc, bad = wallet.approve("USDC", ROUTER, 3), address(0xBAD)
    portfolio.put(REVERTS, bad)
    body = await approvals(api, contract, f"&tokens={usdc},{bad}")
    assert list(told(body)) == [("erc20", usdc, ROUTER)]
    assert body["partial"] == [{"chainId": 31337, "token": bad, "reason": "call_failed"}]


async def test_a_node_without_logs_gives_what_known_spenders_may_take(api, wallet, portfolio, contract):
    portfolio.rpc.refused.add("eth_getLogs")
    usdc = wallet.approve("USDC", ROUTER, 3)
    wallet.approve("USDC", STRANGER, 3)
    body = await approvals(api, contract)
    assert list(told(body)) == [("erc20", usdc, ROUTER)]
    assert body["partial"] == [{"chainId": 31337, "token": None, "reason": "logs_unavailable"}]


async def test_a_network_that_cannot_be_read_does_not_hide_the_other(api, wallet, portfolio, contract):
    usdc = wallet.approve("USDC", ROUTER, 3)
    portfolio.rpc.dead.add("devnet-l2")
    answer = await api.get(f"{PATH}?wallet={WALLET}")
    body = contract.check("getPortfolioApprovals", answer)
    assert list(told(body)) == [("erc20", usdc, ROUTER)]
    assert [row["chainId"] for row in body["partial"]] == [31338]
    portfolio.rpc.dead.add("devnet")
    assert (await api.get(f"{PATH}?wallet={WALLET}")).status == 502


async def test_allowances_are_read_in_batches(api, portfolio, contract):
    await approvals(api, contract)
    portfolio.rpc.seen.clear()
    await approvals(api, contract)
    assert len(portfolio.rpc.seen) == 1, "3 tokens and 2 spenders are one call"


# --- revoking -----------------------------------------------------------------------------------------------


def grant(token, spender, kind="erc20"):
    return {"token": token, "spender": spender, "kind": kind}


async def revoke(api, contract, *grants, **more):
    body = {"address": WALLET, "network": "devnet", "approvals": list(grants), **more}
    answer = await api.post(f"{PATH}/revoke", body)
    return contract.check("createRevocation", answer) if answer.status == 201 else answer


async def test_revoked_allowances_are_zero_afterwards(api, wallet, contract):
    usdc, weth = wallet.approve("USDC", ROUTER, MAX_UINT256), wallet.approve("WETH", STRANGER, 7)
    usdt = wallet.approve("USDT", ROUTER, 8)  # reverts on a change of an allowance that is not zero
    wallet.approve("USDC", permit2.ADDRESS, 10)
    wallet.approve_through_permit2("USDC", ROUTER, 10, LATER)
    wallet.approve_through_permit2("WETH", STRANGER, 11, LATER)
    body = await approvals(api, contract)
    assert len(body["data"]) == 6
    grants = [grant(row["token"]["address"], row["spender"], row["kind"]) for row in body["data"]]
    action = await revoke(api, contract, *grants)
    assert [step["kind"] for step in action["steps"]].count("permit2_revocation") == 1, "one call ends both"
    assert len(action["transactions"]) == 5
    assert (action["kind"], action["provider"], action["quoteId"]) == ("revocation", "quoteway", None)
    assert action["simulation"]["status"] == "success"
    assert all(change["after"] == "0" for change in action["simulation"]["allowanceChanges"])
    assert action["walletSendCalls"]["calls"] == [
        {name: transaction[name] for name in ("to", "data", "value")}
        for transaction in action["transactions"]
    ]
    for transaction in action["transactions"]:
        wallet.send(transaction["to"], transaction["data"], transaction["value"])
    for token in (usdc, weth, usdt):
        for spender in (ROUTER, STRANGER, permit2.ADDRESS):
            assert wallet.allowance(token, spender) == wallet.permit2_allowance(token, spender) == 0
    assert (await approvals(api, contract))["data"] == []


async def test_the_signer_reads_what_is_ended(api, wallet, contract):
    usdc = wallet.approve("USDC", ROUTER, 9)
    (step,) = (await revoke(api, contract, grant(usdc, ROUTER)))["steps"]
    assert step["clearSigning"]["intent"] == f"Reset the allowance of {ROUTER} over your USDC to zero"
    assert step["decoded"]["signature"] == "approve(address,uint256)"
    assert (step["target"]["label"], int(step["gasLimit"], 16) > 21_000) == ("USDC", True)
    wallet.approve_through_permit2("USDC", ROUTER, 9, LATER)
    (step,) = (await revoke(api, contract, grant(usdc, ROUTER, "permit2")))["steps"]
    words = f"Reset the allowance of {ROUTER} over your USDC through Permit2 to zero"
    assert (step["clearSigning"]["intent"], step["target"]["label"]) == (words, "Permit2")
    assert step["decoded"]["signature"] == "lockdown((address,address)[])"


async def test_a_broadcast_revocation_is_recognised(api, wallet, contract):
    usdc = wallet.approve("USDC", ROUTER, 9)
    action = await revoke(api, contract, grant(usdc, ROUTER))
    (transaction,) = action["transactions"]
    sent = wallet.send(*(transaction[name] for name in ("to", "data", "value")))
    path = f"/v2/transactions/{action['steps'][0]['txId']}/submit-hash"
    report = contract.check("submitTransactionHash", await api.post(path, {"hash": sent}))
    assert report["match"] == "match"


async def test_what_is_zero_already_needs_no_transaction(api, wallet, contract, refused):
    usdc, weth = wallet.approve("USDC", ROUTER, 9), wallet.portfolio.token("WETH").address
    action = await revoke(api, contract, grant(usdc, ROUTER), grant(weth, ROUTER), grant(usdc, ROUTER))
    assert len(action["transactions"]) == 1
    answer = await revoke(api, contract, grant(weth, ROUTER))
    details = refused(answer, 422, "validation_error", "conflict")
    assert details["fields"][0]["path"] == "approvals"


async def test_what_is_no_token_is_refused(api, contract, refused):
    answer = await revoke(api, contract, grant(address(0x404), ROUTER))
    assert refused(answer, 422, "validation_error", "unsupported_token")["fields"][0]["path"] == "approvals"


@pytest.mark.parametrize(
    "wrong",
    [
        *([], {}, "all", [1], [{"token": ROUTER}], [grant("0x12", ROUTER)], [grant(ROUTER, ROUTER, "nft")]),
        *([{**grant(ROUTER, ROUTER), "amount": "1"}], [grant(ROUTER, ROUTER)] * 21),
    ],
)
async def test_a_list_that_cannot_be_read_is_refused(api, refused, wrong):
    answer = await api.post(f"{PATH}/revoke", {"address": WALLET, "network": "devnet", "approvals": wrong})
    assert refused(answer, 422, "validation_error")["fields"][0]["path"] == "approvals"


async def test_a_token_whose_approval_takes_something_is_refused(api, wallet, portfolio, contract, refused):
    """A spam token is found by its log. Its ``approve`` spends what the wallet granted to it before."""
    usdc, trap = portfolio.token("USDC").address, address(0x7A)
    spend = function("transferFrom(address from, address to, uint256 amount)").encode([WALLET, trap, 5])
    portfolio.put("0x" + trap_code(usdc, spend).hex(), trap)
    wallet.approve("USDC", trap, 5)
    answer = await revoke(api, contract, grant(trap, ROUTER))
    details = refused(answer, 502, "upstream_error", "unsafe_answer")
    assert details["retryable"] is False


def trap_code(token, spend):
    """Runtime code: every read gives 1, and ``approve`` calls ``token`` with ``spend``."""
    answer = bytes.fromhex("600160005260206000f3")
    words = [(at, spend[at : at + 32].ljust(32, b"\0")) for at in range(0, len(spend), 32)]
    copy = b"".join(b"\x7f" + word + b"\x60" + bytes([at]) + b"\x52" for at, word in words)
    call = bytes.fromhex("60006000") + b"\x60" + bytes([len(spend)]) + bytes.fromhex("60006000")
    call += b"\x73" + bytes.fromhex(token[2:]) + bytes.fromhex("5af150") + answer
    head = bytes.fromhex("60003560f81c600914")  # the selector of approve begins with 0x09
    target = len(head) + 3 + len(answer)
    return head + b"\x60" + bytes([target]) + b"\x57" + answer + b"\x5b" + copy + call
