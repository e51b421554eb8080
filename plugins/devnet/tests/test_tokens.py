import pytest
from chain_calls import balance, raw_call, send
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import RpcError

OWNER, SPENDER, OTHER = (account.address for account in ACCOUNTS[4:7])


@pytest.fixture
def rpc(fresh):
    with fresh.rpc() as rpc:
        yield rpc


def test_usdt_returns_nothing(fresh, rpc):
    usdt = fresh.chains["devnet"].token("USDT").address
    assert raw_call(rpc, usdt, "transfer(address,uint256)", OTHER, 1, sender=OWNER) == "0x"
    assert raw_call(rpc, usdt, "approve(address,uint256)", SPENDER, 1, sender=OWNER) == "0x"
    before = balance(rpc, usdt, OTHER)
    assert send(rpc, OWNER, usdt, "approve(address,uint256)", SPENDER, 5)["status"] == "0x1"
    signature = "transferFrom(address,address,uint256)"
    assert raw_call(rpc, usdt, signature, OWNER, OTHER, 5, sender=SPENDER) == "0x"
    assert send(rpc, SPENDER, usdt, signature, OWNER, OTHER, 5)["status"] == "0x1"
    assert balance(rpc, usdt, OTHER) - before == 5
    assert send(rpc, SPENDER, usdt, signature, OWNER, OTHER, 1)["status"] == "0x0"


def test_usdt_requires_its_allowance_to_be_reset(fresh, rpc):
    usdt = fresh.chains["devnet"].token("USDT").address
    approve = "approve(address,uint256)"
    assert send(rpc, OWNER, usdt, approve, SPENDER, 5)["status"] == "0x1"
    with pytest.raises(RpcError, match="revert"):
        raw_call(rpc, usdt, approve, SPENDER, 6, sender=OWNER)
    assert send(rpc, OWNER, usdt, approve, SPENDER, 0)["status"] == "0x1"
    assert send(rpc, OWNER, usdt, approve, SPENDER, 6)["status"] == "0x1"


def test_plain_tokens_return_true(fresh, rpc):
    link = fresh.chains["devnet"].token("LINK").address
    assert int(raw_call(rpc, link, "transfer(address,uint256)", OTHER, 1, sender=OWNER), 16) == 1
    assert send(rpc, OWNER, link, "approve(address,uint256)", SPENDER, 5)["status"] == "0x1"
    assert send(rpc, OWNER, link, "approve(address,uint256)", SPENDER, 6)["status"] == "0x1"
    with pytest.raises(RpcError):
        raw_call(rpc, link, "transfer(address,uint256)", OTHER, 2**200, sender=OWNER)


def test_fee_on_transfer_takes_one_percent(fresh, rpc):
    tax = fresh.chains["devnet"].token("TAX").address
    before_from, before_to = balance(rpc, tax, OWNER), balance(rpc, tax, OTHER)
    (supply_before,) = (int(raw_call(rpc, tax, "totalSupply()"), 16),)
    assert send(rpc, OWNER, tax, "transfer(address,uint256)", OTHER, 10_050)["status"] == "0x1"
    assert before_from - balance(rpc, tax, OWNER) == 10_050
    assert balance(rpc, tax, OTHER) - before_to == 9_950
    assert supply_before - int(raw_call(rpc, tax, "totalSupply()"), 16) == 100
