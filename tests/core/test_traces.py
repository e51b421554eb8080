"""What the logs of a simulated run say: transfers, approvals and items of every token standard."""

from devnet_nodes import NOBODY, RICH, token
from quoteway.evm.abi import event_topic, function
from quoteway.evm.address import checksum
from quoteway.evm.chain import Log
from quoteway.models import MAX_UINT256, NATIVE, AssetChange
from quoteway.simulation.trace import Transfer, trace_of
from simulated_runs import ODD, SPENDER, payment, run_of, step


def word(value):
    return f"0x{value:064x}"


async def test_what_the_logs_of_other_standards_say(open_chain):
    me, other, operator = int(RICH, 16), int(NOBODY, 16), int(SPENDER, 16)
    transfer, approval, everything = (
        event_topic(signature)
        for signature in (
            "Transfer(address,address,uint256)",
            "Approval(address,address,uint256)",
            "ApprovalForAll(address,address,bool)",
        )
    )
    permit2_approval = event_topic("Approval(address,address,address,uint160,uint48)")
    all_words = "0x" + "".join(word(value)[2:] for value in (me, other, 5))
    logs = [
        ([transfer, word(me), word(other), word(123)], "0x"),  # ERC-721: the last is the token's id
        ([transfer], all_words),  # nothing indexed, as in tokens older than EIP-20's final text
        ([approval, word(me), word(operator), word(123)], "0x"),
        ([approval, word(me), word(0), word(123)], "0x"),  # ERC-721: nobody, so a revocation
        ([everything, word(me), word(operator)], word(1)),
        ([everything, word(me), word(operator)], word(0)),
        ([permit2_approval, word(me), word(other), word(operator)], all_words),  # not by Permit2: no grant
        ([transfer, word(me)], "0x"),
        ([], "0x"),
    ]

    def rewrite(method, answer):
        if method == "eth_simulateV1":
            for topics, data in logs:
                entry = {"address": ODD, "topics": topics, "data": data}
                answer["result"][0]["calls"][1]["logs"].append(entry)
        return answer

    chain = open_chain(rewrite)
    run, _, trace = await run_of(chain, await chain.head(), RICH, [payment(NOBODY, 0)])
    assert run.status == "success"
    odd = checksum(ODD)
    sent = [Transfer(0, odd, RICH, NOBODY, 1), Transfer(0, odd, RICH, NOBODY, 5)]
    assert [each for each in trace.transfers if each.token == odd] == sent
    assert [(each.spender, each.amount) for each in trace.approvals] == [
        (checksum(SPENDER), 1),
        (NATIVE, 0),
        (checksum(SPENDER), MAX_UINT256),
        (checksum(SPENDER), 0),
    ]


async def test_a_token_that_does_not_answer_has_no_delta(chain, devnet):
    usdc = token(devnet, "USDC")
    run, _, _ = await run_of(
        chain,
        await chain.head(),
        RICH,
        [payment(NOBODY, 1)],
        watch=[(RICH, NOBODY), (RICH, usdc), (RICH, usdc)],
        allowances=[(NOBODY, RICH, SPENDER)],
    )
    assert run.asset_changes == (AssetChange(RICH, usdc, 0),)
    assert run.allowance_changes == ()


async def test_what_one_contract_keeps_many_kinds_of_is_seen_to_move_and_to_be_granted(devnet, chain):
    """ERC-6909, on the v4 PoolManager; its events are not those of ERC-20."""
    manager = devnet.chains["devnet"].contracts["PoolManager"]
    steps = [
        step(function("transfer(address receiver, uint256 id, uint256 amount)"), manager, NOBODY, 7, 0),
        step(function("setOperator(address operator, bool approved)"), manager, SPENDER, True),
        step(function("approve(address spender, uint256 id, uint256 amount)"), manager, SPENDER, 7, 9),
    ]
    run, _, trace = await run_of(chain, await chain.head(), RICH, steps)
    assert run.status == "success"
    assert trace.transfers == ()
    assert [(item.step, item.token, item.sender, item.recipient) for item in trace.items] == [
        (0, manager, RICH, NOBODY)
    ]
    assert [(grant.step, grant.token, grant.owner, grant.spender) for grant in trace.approvals] == [
        (1, manager, RICH, SPENDER),
        (2, manager, RICH, SPENDER),
    ]
    assert all(grant.amount for grant in trace.approvals)


def test_items_of_erc1155_are_seen_to_move():
    """Topics as EIP-1155 events have them on any chain."""
    single = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"
    batch = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"
    parties = tuple("0x" + account[2:].lower().rjust(64, "0") for account in (SPENDER, RICH, NOBODY))
    logs = [Log(SPENDER, (topic, *parties), bytes(64)) for topic in (single, batch)]
    assert [(item.sender, item.recipient) for item in trace_of([logs]).items] == [(RICH, NOBODY)] * 2


def test_a_pool_of_one_contract_that_has_them_all_is_named_by_its_id():
    """The Swap events of Uniswap v4's PoolManager and of Balancer v2's Vault."""
    swaps = (
        "Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)",
        "Swap(bytes32,address,address,uint256,uint256)",
    )
    for swap in swaps:
        topics = (event_topic(swap), "0x" + "AB" * 32, word(int(RICH, 16)))
        logs = [Log(SPENDER, topics, bytes(32 * 6)), Log(SPENDER, topics[:1], bytes(32 * 6))]
        assert trace_of([logs]).swapped == ("0x" + "ab" * 32,)


def test_a_pool_of_balancer_v3_is_named_by_its_address():
    """The Swap event of IVaultEvents, with its topic on any chain."""
    topic = "0x0874b2d545cb271cdbda4e093020c452328b24af12382ed62c4d00f5c26709db"
    indexed = tuple(word(int(account, 16)) for account in (RICH, SPENDER, NOBODY))
    logs = [Log(SPENDER, (topic, *indexed), bytes(32 * 4))]
    assert trace_of([logs]).swapped == (RICH,)
