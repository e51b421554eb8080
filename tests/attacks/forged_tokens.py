"""Tokens that anyone can deploy, with pools that anyone can make."""

import asyncio

from direct_client import USER
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.address import checksum

LOGIC = "0x00000000000000000000000000000000000a11ce"
GET_PAIR = function("getPair(address one, address other)")
MINT = function("mint(address to, uint256 value)")
ADD_LIQUIDITY = function(
    "addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin,"
    " uint256 amountETHMin, address to, uint256 deadline)"
)
AMOUNT = 10**12


async def make_token(client, symbol, name="USD Coin", decimals=6, contract="MintableToken"):
    """Deploys a token and a v2 pool in which 1 ETH costs ``AMOUNT`` base units of it; the token's address."""
    owner = USER
    address = client.devnet.deploy(contract, "(string,string,uint8)", name, symbol, decimals)
    router = client.devnet.chains["devnet"].contracts["UniswapV2Router02"]
    offer = [address, AMOUNT, 0, 0, owner, 2**40]
    calls = (
        (address, MINT.encode([owner, 2 * AMOUNT]), 0),
        (address, erc20.APPROVE.encode([router, AMOUNT]), 0),
        (router, ADD_LIQUIDITY.encode(offer), 10**18),
    )
    for to, data, value in calls:
        await client.send({"to": to, "data": "0x" + data.hex(), "value": hex(value)})
    return address


async def pool_of(client, token):
    """The address of the token's v2 pool with WETH."""
    contracts = client.devnet.chains["devnet"].contracts
    data = "0x" + GET_PAIR.encode([token, contracts["WETH9"]]).hex()

    def read():
        with client.devnet.rpc() as rpc:
            return rpc("eth_call", {"to": contracts["UniswapV2Factory"], "data": data}, "latest")

    return checksum("0x" + (await asyncio.to_thread(read))[-40:])


async def close_sales(client, token):
    """From now on only the token's pool can move it: what was bought cannot be sold."""
    pool = await pool_of(client, token)

    def replace_code():
        with client.devnet.rpc() as rpc:
            rpc("anvil_setCode", LOGIC, rpc("eth_getCode", token, "latest"))
            rpc("anvil_setCode", token, "0x" + guarded(pool, LOGIC).hex())
            rpc("evm_mine")

    await asyncio.to_thread(replace_code)


def guarded(pool, logic):
    """Code that reverts on transfer and transferFrom by others than ``pool``, else delegates to ``logic``."""
    check = (
        "5f35 60e01c"  # the selector
        "80 63a9059cbb 14 90 6323b872dd 14 17"  # transfer or transferFrom
        f"33 73{pool[2:]} 14 15 16"  # and not by the pool
        "15 60{:02x} 57 5f5ffd"  # else jump; revert
    )
    call = f"5b 365f5f37 5f5f365f 73{logic[2:]} 5af4 3d5f5f3e 60{{:02x}} 57 3d5ffd"
    begin = len(bytes.fromhex(check.format(0)))
    end = begin + len(bytes.fromhex(call.format(0)))
    return bytes.fromhex(check.format(begin) + call.format(end) + "5b 3d5ff3")


def warnings_of(answer, code):
    """The messages of an answer's warnings with this code."""
    return [warning["message"] for warning in answer["warnings"] if warning["code"] == code]


def sentences(action):
    """Everything in an action that a wallet may show to its user."""
    texts = [warning["message"] for warning in action["warnings"]]
    for step in action["steps"]:
        texts += [step["description"], step["target"]["label"], step["clearSigning"]["intent"]]
    return [text for text in texts if text]
