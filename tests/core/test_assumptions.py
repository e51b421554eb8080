"""What a simulation assumes of a wallet that lacks it, and says that it assumed."""

from dataclasses import replace

from devnet_nodes import NOBODY, RICH, token
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import function
from quoteway.evm.assumed_balance import assume_balance
from quoteway.evm.balance_slot import BalanceSlot
from quoteway.models import NATIVE, AssetChange
from quoteway.simulation.trace import ApprovalEvent
from simulated_runs import SPENDER, execute, payment, run_of, step

PERMIT = function(
    "permit(address owner, ((address token, uint160 amount, uint48 expiration, uint48 nonce) details,"
    " address spender, uint256 sigDeadline) permitSingle, bytes signature)"
)


async def test_a_missing_balance_is_assumed_and_named(fresh_devnet, chain):
    block = await chain.head(fresh=True)
    for row in fresh_devnet.chains["devnet"].tokens:
        steps = [step(erc20.TRANSFER, row.address, RICH, 777)]
        lacking, _, _ = await run_of(chain, block, NOBODY, steps)
        assert lacking.status == "reverted"
        run, limits, _ = await run_of(
            chain, block, NOBODY, steps, watch=[(NOBODY, row.address)], needs={row.address: 777}
        )
        assert run.status == "success", row.symbol
        assert run.assumptions == (f"balance:{row.address}",)
        assert run.asset_changes == (AssetChange(NOBODY, row.address, -777),)
        assert limits[0]
        sent = chain.requests
        await run_of(chain, block, SPENDER, steps, needs={row.address: 777})
        assert chain.requests == sent + 1, "the slot of a token is looked for once"


async def test_missing_native_coin_is_assumed_and_named(chain):
    block = await chain.head()
    steps = [payment(SPENDER, 10**18)]
    lacking, _, _ = await run_of(chain, block, NOBODY, steps)
    assert lacking.status == "reverted"
    assert "native coin" in lacking.revert_reason
    run, _, _ = await run_of(chain, block, NOBODY, steps, watch=[(SPENDER, NATIVE)], needs={NATIVE: 10**18})
    assert (run.status, run.assumptions) == ("success", ("native_balance",))
    assert run.asset_changes == (AssetChange(SPENDER, NATIVE, 10**18),)


async def test_a_permit2_signature_is_assumed_and_named(chain, devnet):
    usdc = token(devnet, "USDC")
    block = await chain.head()
    expiration = block.timestamp + 1200
    permit = permit2.PermitSingle(usdc, 500, expiration, 0, SPENDER, expiration)
    steps = [step(PERMIT, permit2.ADDRESS, RICH, permit.as_args(), bytes(65))]
    unsigned, _, _ = await run_of(chain, block, RICH, steps)
    assert unsigned.status == "reverted"
    run, _, trace = await run_of(chain, block, RICH, [*steps, payment(SPENDER, 1)], signatures_assumed=True)
    assert (run.status, run.assumptions) == ("success", ("permit2_signature",))
    assert trace.approvals == (ApprovalEvent(0, usdc, RICH, SPENDER, 500),)


async def test_the_typed_data_is_what_permit2_accepts(fresh_devnet, chain):
    from eth_account import Account

    signer = Account.from_key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
    assert signer.address == RICH
    usdc = token(fresh_devnet, "USDC")
    block = await chain.head(fresh=True)
    permit = permit2.PermitSingle(usdc, 500, block.timestamp + 1200, 0, SPENDER, block.timestamp + 1200)
    signature = bytes(signer.sign_typed_data(full_message=permit.typed_data(31337)).signature)
    steps = [step(PERMIT, permit2.ADDRESS, RICH, permit.as_args(), signature)]
    run, limits, _ = await run_of(chain, block, RICH, steps)
    assert (run.status, run.assumptions) == ("success", ())
    assert (await execute(fresh_devnet, steps, gas=limits))[0]["status"] == "0x1"
    granted = await chain.call(
        permit2.ADDRESS, permit2.ALLOWANCE.encode([RICH, usdc, SPENDER]), block=await chain.head(fresh=True)
    )
    assert permit2.ALLOWANCE.decode_output(granted) == (500, permit.expiration, 1)


async def test_a_balance_that_cannot_be_assumed_is_said_so(chain, devnet):
    block = await chain.head()
    multicall = "0xcA11bde05977b3631167028862bE2a173976CA11"
    run, limits, _ = await run_of(chain, block, NOBODY, [payment(RICH, 0)], needs={multicall: 5})
    assert (run.status, run.skip_reason) == ("skipped", "balance_not_assumable")
    assert limits == (None,)


async def test_a_remembered_slot_that_went_wrong_is_forgotten(chain, devnet):
    usdc = token(devnet, "USDC")
    block = await chain.head()
    assert await assume_balance(chain, usdc, NOBODY, 5, block)
    right = chain.balance_slots[usdc]
    chain.balance_slots[usdc] = replace(right, base=right.base + 40)
    needs = {usdc: 777}
    run, _, _ = await run_of(chain, block, NOBODY, [payment(RICH, 0)], needs=needs)
    assert run.status == "skipped"
    run, _, _ = await run_of(chain, block, NOBODY, [payment(RICH, 0)], needs=needs)
    assert run.status == "success"
    assert chain.balance_slots[usdc] == right


async def test_slots_are_found_without_access_lists_too(open_chain, devnet):
    def rewrite(method, answer):
        missing = {"error": {"code": -32601, "message": "the method does not exist"}}
        return missing if method == "eth_createAccessList" else answer

    chain = open_chain(rewrite)
    assert await assume_balance(chain, token(devnet, "DAI"), NOBODY, 5, await chain.head())


def test_slot_layouts():
    # keccak256(abi.encode(0, 0)) and its Vyper order are the same word here
    zero = "0xad3228b676f7d3cd4284a5443f17f1962b36e491b30a40b2405849e597ba5fb5"
    assert BalanceSlot(NOBODY, 0).of(NATIVE) == BalanceSlot(NOBODY, 0, vyper=True).of(NATIVE) == zero
    assert BalanceSlot(NOBODY, 1).of(NATIVE) != BalanceSlot(NOBODY, 1, vyper=True).of(NATIVE)
