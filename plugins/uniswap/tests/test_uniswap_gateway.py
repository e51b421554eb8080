"""The provider inside a whole gateway: quote, action, and the action's transactions sent as they are."""

import time

import pytest
import quoteway_devnet.plugin
import quoteway_uniswap
from eth_account import Account
from quoteway import NATIVE, Capability, SwapRequest, Token, UpstreamError
from quoteway_devnet.accounts import ACCOUNTS

quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")

FORK = {
    "network": "devnet",
    "protocol": "emptyfork",
    "router": "0x1111111111111111111111111111111111111112",
    "router_version": "2.0",
    "v2": {"factory": "0x1111111111111111111111111111111111111113"},
}


@pytest.fixture
async def gateway(fresh_devnet, make_gateway):
    sections = {
        "devnet": {
            "enabled": True,
            "start": False,
            "port": fresh_devnet.ports["devnet"],
            "l2_port": fresh_devnet.ports["devnet-l2"],
        },
        "uniswap": {"deployments": [FORK]},
    }
    plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "uniswap": quoteway_uniswap}
    return await make_gateway(plugins, plugin_sections=sections)


def send(devnet, action, signature=None):
    """The steps as a wallet sends them, with the signature put in its place; what the last one used."""
    with devnet.rpc() as rpc:
        for index, step in enumerate(action.steps):
            data = step.data
            if signature is not None and index == action.signatures[0].step:
                start = action.signatures[0].offset
                data = data[:start] + signature + data[start + 65 :]
            transaction = {
                "from": action.sender,
                "to": step.to,
                "data": "0x" + data.hex(),
                "value": hex(step.value),
                "gas": hex(step.gas_limit),
            }
            identity = rpc("eth_sendTransaction", transaction)
            while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
                time.sleep(0.002)
            assert receipt["status"] == "0x1", step.intent


def balance(devnet, token, owner):
    with devnet.rpc() as rpc:
        if token == NATIVE:
            return int(rpc("eth_getBalance", owner, "latest"), 16)
        return int(
            rpc("eth_call", {"to": token, "data": "0x70a08231" + owner[2:].rjust(64, "0")}, "latest"), 16
        )


@pytest.mark.parametrize(
    ("sold", "bought", "amount", "signed", "kinds"),
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
    gateway, fresh_devnet, sold, bought, amount, signed, kinds
):
    manifest = fresh_devnet.chains["devnet"]

    def token(symbol):
        if symbol == "ETH":
            return Token(31337, NATIVE, 18, "ETH")
        row = manifest.token(symbol)
        return Token(31337, row.address, row.decimals, symbol)

    account, recipient = ACCOUNTS[5], "0x3333333333333333333333333333333333333333"
    request = SwapRequest(
        31337, 31337, token(sold), token(bought), amount, account.address, recipient, 50, signed
    )
    answer = await gateway.spine.quote(Capability.SWAP, request)
    assert len(answer.sealed.token) <= 4096
    sealed = gateway.spine.open(Capability.SWAP, answer.sealed.token)
    action = await gateway.spine.action(sealed)
    assert [step.kind for step in action.steps] == kinds
    assert action.simulation.status == "success"
    assert (await gateway.spine.action(sealed)).steps == action.steps
    signature = None
    if signed:
        typed_data = dict(action.signatures[0].typed_data)
        signature = bytes(Account.sign_typed_data(account.private_key, full_message=typed_data).signature)
    before = balance(fresh_devnet, request.token_out.address, recipient)
    send(fresh_devnet, action, signature)
    received = balance(fresh_devnet, request.token_out.address, recipient) - before
    assert received == answer.quote.outputs[0].amount > 0


@pytest.mark.parametrize(("sold", "bought"), [("ETH", "DAI"), ("ETH", "LINK")])
async def test_an_action_whose_minimum_was_front_run_says_so_in_words(gateway, fresh_devnet, sold, bought):
    row = fresh_devnet.chains["devnet"].token(bought)
    ends = Token(31337, NATIVE, 18, sold), Token(31337, row.address, row.decimals, bought)

    def request(amount, account):
        return SwapRequest(31337, 31337, *ends, amount, account.address, account.address, 50)

    async def sealed(made):
        answer = await gateway.spine.quote(Capability.SWAP, made)
        return gateway.spine.open(Capability.SWAP, answer.sealed.token)

    victim = await sealed(request(10**17, ACCOUNTS[5]))
    for _ in range(10):
        send(fresh_devnet, await gateway.spine.action(await sealed(request(500 * 10**18, ACCOUNTS[6]))))
        await gateway.runtime.chains[31337].head(fresh=True)
        now = await sealed(request(10**17, ACCOUNTS[5]))
        if now.outputs[0].amount < victim.outputs[0].amount_min:
            break
    with pytest.raises(UpstreamError) as refusal:
        await gateway.spine.action(victim)
    assert refusal.value.reason == "price_moved"
    assert "the swap gives" in refusal.value.message, refusal.value.message
    assert "less than its minimum" in refusal.value.extra["revertReason"]
