"""A gateway, or somebody between, that answers something else than was asked: nothing is signed."""

import asyncio
import json

import httpx
import pytest
from eth_abi.abi import encode
from quoteway_client import ActionMismatch, QuoteMismatch, Quoteway, sign_permits

THIEF = "0x7e7E7e7E7E7e7E7E7e7e7e7e7E7e7e7e7e7E7e7e"
FRIEND = "0x4444444444444444444444444444444444444444"
pytestmark = pytest.mark.slow


class Between(httpx.HTTPTransport):
    """A proxy that changes answers of paths that end so."""

    def __init__(self, ending, change):
        super().__init__()
        self.ending, self.change = ending, change

    def handle_request(self, request):
        response = super().handle_request(request)
        response.read()
        if not request.url.path.endswith(self.ending):
            return response
        return httpx.Response(response.status_code, json=self.change(response.json()))


class NoSigner:
    """An account that must not sign."""

    def __init__(self, account):
        self.address = account.address

    def sign_transaction(self, transaction_dict):
        pytest.fail(f"signed {transaction_dict}")

    def sign_typed_data(self, *, full_message):
        pytest.fail(f"signed {full_message}")


def replaced(answer, before, after):
    """All of an answer with an address, as text and in calldata, replaced."""
    text = json.dumps(answer)
    for one, other in ((before, after), (before[2:].lower(), after[2:].lower())):
        text = text.replace(one, other)
    return json.loads(text)


def at(answer, path, value):
    """Sets a member; ``path`` is its names and indices."""
    *way, last = path
    target = answer
    for each in way:
        target = target[each]
    target[last] = value
    return answer


def more_allowance(answer):
    """An unlimited approval, told as its bytes are."""
    answer["transactions"][0]["data"] = answer["transactions"][0]["data"][:-64] + "f" * 64
    answer["steps"][0]["decoded"]["args"][1]["value"] = str(2**256 - 1)
    return answer


def theft(answer):
    """One more transaction: a transfer of the user's tokens, told as it is."""
    data = "0xa9059cbb" + encode(["address", "uint256"], [THIEF, 10**9]).hex()
    answer["transactions"].append({**answer["transactions"][0], "data": data})
    args = [
        {"name": "to", "type": "address", "value": THIEF},
        {"name": "amount", "type": "uint256", "value": str(10**9)},
    ]
    decoded = {"signature": "transfer(address,uint256)", "args": args}
    answer["steps"].append({**answer["steps"][0], "index": 3, "decoded": decoded})
    return answer


def paid_to_a_thief(answer):
    """The thief is paid; what is told of the outputs and recipients is as it was."""
    changed = replaced(answer, FRIEND, THIEF)
    return changed | {"outputs": answer["outputs"], "recipients": answer["recipients"]}


def lowered(answer):
    """The minimum in the bytes, and in what is told of them, is 1; the outputs are as they were."""
    least = int(answer["outputs"][0]["amountMin"])
    text = json.dumps({name: answer[name] for name in ("transactions", "steps")})
    text = text.replace(f"{least:064x}", f"{1:064x}").replace(f'"{least}"', '"1"')
    return answer | json.loads(text)


ACTIONS = {
    "chain of a transaction": (lambda a: at(a, ["transactions", 2, "chainId"], 1), "chainId must be 31337"),
    "chain of all": (lambda a: replaced(a, "31337", "1") | {"chainId": 1}, "chainId must be 31337"),
    "sender": (lambda a: a | {"from": THIEF}, "from must be"),
    "recipient of the output": (lambda a: at(a, ["outputs", 0, "account"], THIEF), r"outputs\[0\].account"),
    "one recipient more": (lambda a: at(a, ["recipients", 0, "account"], THIEF), "recipients must be one of"),
    "recipient in the calldata": (paid_to_a_thief, "recipient must be one of"),
    "recipient in the bytes alone": (
        lambda a: a | {"transactions": replaced(a["transactions"], FRIEND, THIEF)},
        "calls that the bytes make|the call that the bytes make",
    ),
    "minimum that is told": (lambda a: at(a, ["outputs", 0, "amountMin"], "1"), r"outputs\[0\].amountMin"),
    "minimum in the calldata": (lowered, "minimum in the calldata"),
    "input": (lambda a: at(a, ["inputs", 0, "amount"], "2000000000"), r"inputs\[0\].amount must be at most"),
    "token": (lambda a: at(a, ["inputs", 0, "token", "address"], THIEF), r"inputs\[0\].token must be"),
    "unlimited approval": (more_allowance, "allowance of 0x"),
    "coin": (lambda a: at(a, ["transactions", 2, "value"], "0x1"), "the coins sent along must be at most 0"),
    "theft": (theft, "gives nothing away"),
    "another quote": (lambda a: a | {"quoteId": "another"}, "quoteId must be"),
    "nothing": (lambda a: a | {"transactions": [], "steps": []}, "transactions must be at least one"),
    "loss in the simulation": (
        lambda a: at(a, ["simulation", "assetChanges", 1, "delta"], "-2000000000"),
        "simulated loss",
    ),
}


@pytest.mark.parametrize("case", ACTIONS)
async def test_an_action_that_is_something_else_is_not_signed(chain, case):
    change, said = ACTIONS[case]
    quote = await chain.client.swaps.quote(**chain.swap(to_address=FRIEND, protocols=["uniswap-v3"]))

    def send():
        with Quoteway(chain.url, http=httpx.Client(transport=Between("/action", change))) as client:
            action = client.swaps.action(quote.quote_id)  # as it came
            client.send(action, NoSigner(chain.account), quote=quote, rpc_url=chain.node_url)

    with pytest.raises(ActionMismatch, match=said) as caught:
        await asyncio.to_thread(send)
    assert all(each.expected != each.found for each in caught.value.differences)


@pytest.mark.parametrize("case", ["sender", "recipient of the output", "minimum that is told", "coin"])
async def test_an_action_is_compared_when_it_comes(chain, case):
    change, said = ACTIONS[case]
    quote = await chain.client.swaps.quote(**chain.swap(to_address=FRIEND, protocols=["uniswap-v3"]))

    def act():
        with Quoteway(chain.url, http=httpx.Client(transport=Between("/action", change))) as client:
            client.swaps.act(quote)

    with pytest.raises(ActionMismatch, match=said):
        await asyncio.to_thread(act)


QUOTES = {
    "recipient": (lambda q: at(q, ["request", "toAddress"], THIEF), "request.toAddress"),
    "payer": (lambda q: at(q, ["request", "address"], THIEF), "request.address"),
    "fee": (lambda q: at(q, ["request", "feeRecipient"], THIEF), "request.feeRecipient"),
    "amount": (lambda q: at(q, ["request", "amount"], "2000000000"), "amount must be 1000000000"),
    "input": (lambda q: at(q, ["inputs", 0, "amount"], "2000000000"), "inputs must be 1000000000"),
    "token": (lambda q: at(q, ["request", "toToken"], THIEF), "request.toToken"),
    "output to another": (lambda q: at(q, ["outputs", 0, "account"], THIEF), "outputs.account"),
    "slippage": (lambda q: at(q, ["request", "slippageBps"], 5000), "slippageBps must be 50"),
    "minimum": (lambda q: at(q, ["outputs", 0, "amountMin"], "1"), "outputs.amountMin must be at least"),
    "network": (lambda q: q | {"network": "ethereum", "chainId": 1}, "network must be devnet"),
    "side": (lambda q: at(q, ["request", "side"], "exactOut"), "side must be exactIn"),
    "another chain": (lambda q: at(q, ["request", "toChain"], "devnet-l2"), "request.toChain"),
    "amount that is shown": (lambda q: q | {"toAmount": "1" + q["toAmount"]}, "toAmount must be"),
    "minimum that is shown": (lambda q: q | {"toAmountMin": q["toAmount"]}, "toAmountMin must be"),
    "input that is shown": (lambda q: q | {"fromAmount": "1"}, "fromAmount must be 1000000000"),
    "maximum that is shown": (lambda q: q | {"fromAmountMax": "1"}, "fromAmountMax must be 1000000000"),
    "token that is shown": (lambda q: at(q, ["toToken", "address"], THIEF), "toToken.address must be"),
    "decimals that are shown": (lambda q: at(q, ["fromToken", "decimals"], 7), "fromToken.decimals must be"),
}


@pytest.mark.parametrize("case", QUOTES)
async def test_a_quote_for_another_request_is_refused(chain, case):
    change, said = QUOTES[case]

    def quote():
        with Quoteway(chain.url, http=httpx.Client(transport=Between("/quote", change))) as client:
            client.swaps.quote(**chain.swap(slippage_bps=50))

    with pytest.raises(QuoteMismatch, match=said):
        await asyncio.to_thread(quote)


MESSAGES = {
    "spender": (["message", "spender"], THIEF, "spender must be a contract that the action calls"),
    "amount": (["message", "details", "amount"], str(2**160 - 1), "allowance of 0x"),
    "token": (["message", "details", "token"], THIEF, "allowance of 0x7e"),
    "contract": (["domain", "verifyingContract"], THIEF, "verifyingContract must be"),
    "chain": (["domain", "chainId"], 1, "domain.chainId must be 31337"),
    "kind": (["primaryType"], "PermitBatch", "primaryType must be PermitSingle"),
}


@pytest.mark.parametrize("case", MESSAGES)
async def test_a_message_that_allows_more_is_not_signed(chain, case):
    path, value, said = MESSAGES[case]
    quote = await chain.client.swaps.quote(**chain.swap(approval_mode="permit2-signature"))

    def send():
        change = Between("/action", lambda a: at(a, ["signatures", 0, "typedData", *path], value))
        with Quoteway(chain.url, http=httpx.Client(transport=change)) as client:
            action = client.swaps.act(quote)
            client.send(action, NoSigner(chain.account), quote=quote, rpc_url=chain.node_url)

    with pytest.raises(ActionMismatch, match=said):
        await asyncio.to_thread(send)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["typedData", "message", "spender"], THIEF, "message.spender must be"),
        (["typedData", "message", "value"], str(2**256 - 1), "message.value must be"),
        (["typedData", "domain", "verifyingContract"], THIEF, "verifyingContract must be"),
        (["permit", "value"], str(2**256 - 1), "allowance of 0x"),
    ],
)
async def test_a_permit_that_allows_more_is_not_signed(chain, permit_token, path, value, said):
    quote = await chain.client.swaps.quote(**chain.swap(amount=10**18) | {"from_token": permit_token})

    def sign():
        change = Between("/action", lambda a: at(a, ["permitOffers", 0, *path], value))
        with Quoteway(chain.url, http=httpx.Client(transport=change)) as client:
            sign_permits(client.swaps.act(quote, offer_permits=True), quote, NoSigner(chain.account))

    with pytest.raises(ActionMismatch, match=said):
        await asyncio.to_thread(sign)


async def test_a_node_of_another_chain_is_refused(chain):
    quote = await chain.client.swaps.quote(**chain.swap())
    action = await chain.client.swaps.act(quote)
    other = chain.devnet.urls["devnet-l2"]
    with pytest.raises(ActionMismatch, match="the node's chain id must be 31337, not 31338"):
        await chain.client.send(action, NoSigner(chain.account), quote=quote, rpc_url=other)


async def test_another_account_does_not_sign(chain):
    from eth_account import Account

    quote = await chain.client.swaps.quote(**chain.swap())
    action = await chain.client.swaps.act(quote)
    with pytest.raises(ActionMismatch, match="the account that signs"):
        await chain.client.send(action, NoSigner(Account.create()), quote=quote, rpc_url=chain.node_url)
