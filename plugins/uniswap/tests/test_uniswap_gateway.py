"""The swap provider in a gateway: quotes, and actions executed on the devnet."""

from dataclasses import replace

import pytest
from eth_account import Account
from quoteway import NATIVE, Capability, SwapRequest, Token, UpstreamError
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS

FORK = {
    "network": "devnet",
    "protocol": "emptyfork",
    "router": "0x1111111111111111111111111111111111111112",
    "router_version": "2.0",
    "v2": {"factory": "0x1111111111111111111111111111111111111113"},
}


@pytest.fixture
def uniswap_section():
    return {"deployments": [FORK], "solver_processes": 0}


def signed(action, signature):
    """Returns the action with the signature in its calldata."""
    (request,) = action.signatures
    steps = list(action.steps)
    data = steps[request.step].data
    data = data[: request.offset] + signature + data[request.offset + 65 :]
    steps[request.step] = replace(steps[request.step], data=data)
    return replace(action, steps=tuple(steps))


@pytest.mark.parametrize(
    ("sold", "bought", "amount", "with_permit", "kinds"),
    [
        ("USDT", "ETH", 10**9, False, ["approval", "permit2_approval", "swap"]),
        ("USDC", "LINK", 10**9, True, ["approval", "swap"]),
        ("ETH", "PEPE", 10**18, False, ["swap"]),
        ("TAX", "DAI", 10**20, False, ["approval", "permit2_approval", "swap"]),
        ("ETH", "WETH", 10**18, False, ["swap"]),
        ("WETH", "ETH", 10**18, False, ["approval", "permit2_approval", "swap"]),
    ],
)
async def test_an_action_pays_exactly_what_its_quote_says(
    gateway, fresh_devnet, sold, bought, amount, with_permit, kinds
):
    manifest = fresh_devnet.chains["devnet"]

    def token(symbol):
        if symbol == "ETH":
            return Token(31337, NATIVE, 18, "ETH")
        row = manifest.token(symbol)
        return Token(31337, row.address, row.decimals, symbol)

    account, recipient = ACCOUNTS[5], "0x3333333333333333333333333333333333333333"
    request = SwapRequest(
        31337, 31337, token(sold), token(bought), amount, account.address, recipient, 50, with_permit
    )
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    assert len(answer.sealed.token) <= 4096
    sealed = gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    action = await gateway.building.action(sealed)
    assert [step.kind for step in action.steps] == kinds
    assert action.simulation.status == "success"
    assert (await gateway.building.action(sealed)).steps == action.steps
    if with_permit:
        typed_data = dict(action.signatures[0].typed_data)
        signature = Account.sign_typed_data(account.private_key, full_message=typed_data).signature
        action = signed(action, bytes(signature))
    executed = await execute(fresh_devnet, action)
    assert not executed.reverted
    received = executed.deltas[recipient, request.token_out.address]
    assert received == answer.quote.outputs[0].amount > 0


@pytest.mark.parametrize(("sold", "bought"), [("ETH", "DAI"), ("ETH", "LINK")])
async def test_an_action_whose_minimum_was_front_run_says_so_in_words(gateway, fresh_devnet, sold, bought):
    row = fresh_devnet.chains["devnet"].token(bought)
    ends = Token(31337, NATIVE, 18, sold), Token(31337, row.address, row.decimals, bought)

    def request(amount, account):
        return SwapRequest(31337, 31337, *ends, amount, account.address, account.address, 50)

    async def sealed(made):
        answer = await gateway.quoting.quote(Capability.SWAP, made, acknowledged=["high_price_impact"])
        return gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)

    victim = await sealed(request(10**17, ACCOUNTS[5]))
    for _ in range(10):
        await execute(
            fresh_devnet, await gateway.building.action(await sealed(request(500 * 10**18, ACCOUNTS[6])))
        )
        now = await sealed(request(10**17, ACCOUNTS[5]))
        if now.outputs[0].amount < victim.outputs[0].amount_min:
            break
    with pytest.raises(UpstreamError) as refusal:
        await gateway.building.action(victim)
    assert refusal.value.reason == "price_moved"
    assert "the swap gives" in refusal.value.message, refusal.value.message
    assert "less than its minimum" in refusal.value.revert_reason
