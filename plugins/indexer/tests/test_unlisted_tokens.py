"""Balances of tokens that no catalog lists, found by an index: shown, judged, outside of totals."""

import pytest
from index_rows import facts
from quoteway import EventSource
from quoteway.web.resources.wallet_tokens import MOST_BEHIND
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, Span
from quoteway_indexer.transfer_sources import SOURCE, TRANSFER
from wallet_service import CHAIN, OTHER, STUB, WALLET, WalletService, stubs

VERSION = version_of(EventSource(id=SOURCE, chain_id=CHAIN, version=1, rules=(TRANSFER,)))
BALANCES = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&includeNative=false"
REVERTS, BURNS, HUGE_TEXT = "0x60006000fd", "0x5b600056", "0x6120006000f3"
MOST_CALLS = 3
LOGIC = "0x00000000000000000000000000000000000a11ce"


def frozen(logic):
    """Code that reverts on transfer, else delegates to ``logic``."""
    check = "5f35 60e01c 63a9059cbb 14 15 60{:02x} 57 5f5ffd"
    call = f"5b 365f5f37 5f5f365f 73{logic[2:]} 5af4 3d5f5f3e 60{{:02x}} 57 3d5ffd"
    begin = len(bytes.fromhex(check.format(0)))
    end = begin + len(bytes.fromhex(call.format(0)))
    return bytes.fromhex(check.format(begin) + call.format(end) + "5b 3d5ff3")


def rows_of(body):
    return {row["token"]["address"]: row for row in body["data"]}


@pytest.fixture
def service(fresh_devnet, duckdb_store):
    return WalletService(fresh_devnet, duckdb_store)


async def test_a_received_token_is_shown_with_the_chains_balance_and_stays_outside_the_total(service):
    usdc = service.token("USDC")
    air = service.give("AIR", "Air of somebody", 5_000_000)
    gone = service.give("GONE", "Gone", 7)
    transfer = bytes.fromhex("a9059cbb") + bytes.fromhex(OTHER[2:]).rjust(32, b"\0") + (7).to_bytes(32)
    service.send(gone, transfer)
    service.fill()
    async with service.serving(usd={usdc.address: 1.0, air: 2.0}):
        body = await service.get("getPortfolioBalances", BALANCES)
        found = rows_of(body)
        assert gone not in found
        row = found[air]
        assert (row["amount"], row["listed"], row["spam"], row["spamReasons"]) == (
            "5000000",
            False,
            False,
            [],
        )
        assert (row["token"]["symbol"], row["counted"]) == ("AIR", False)
        assert found[usdc.address]["listed"]
        assert body["totalUsd"] == pytest.approx(int(found[usdc.address]["amount"]) / 1e6)
        assert body["partial"] == []
        counted = await service.get("getPortfolioBalances", f"{BALANCES}&includeUnlisted=true")
        # Nobody tells what the pools would pay for it: its value has no limit, and does not count.
        assert not rows_of(counted)[air]["counted"]
        both = await service.api.post(
            "/v2/portfolio/balances", {"wallets": [WALLET, OTHER], "network": "devnet"}
        )
        await service.api.check("listBalancesOfWallets", both)
        assert [air in rows_of(wallet) for wallet in both.body["data"]] == [True, False]


async def test_every_rule_marks_what_breaks_it_and_nothing_else(service):
    plain = service.give("AIR", "Air")
    cases = {
        service.give("AIRx", "Visit usdc-rewards.com"): ["link", "promise"],
        service.give("t.me/free", "T"): ["link"],
        service.give("$ CLAIM", "Claim your reward"): ["promise"],
        service.give("U\u0405DC", "USD Coin"): ["look_alike"],
        service.give("WETH", "Wrapped Ether"): ["look_alike"],
        service.give("ETH", "Ether"): ["look_alike"],
        (stuck := service.give("STUCK", "Stuck")): ["not_transferable"],
    }
    with service.devnet.rpc() as rpc:
        rpc("anvil_setCode", LOGIC, rpc("eth_getCode", stuck, "latest"))
        rpc("anvil_setCode", stuck, "0x" + frozen(LOGIC).hex())
        rpc("evm_mine")
    gift = stubs(1)[0]
    service.put(STUB, gift)
    service.fill()
    rows = [
        {
            "block": 2,
            "log_index": 500 + n,
            "transaction_hash": b"g" * 32,
            "token": bytes.fromhex(gift[2:]),
            "sender": bytes.fromhex(OTHER[2:]),
            "recipient": bytes.fromhex(WALLET[2:]) if n == 30 else n.to_bytes(20),
            "amount": 1,
        }
        for n in range(60)
    ]
    service.store.commit(Commit(CHAIN, facts={"transfer": facts("transfer", *rows)}))
    cases[gift] = ["mass_gift"]
    async with service.serving(usd=dict.fromkeys(cases, 10.0)):
        body = await service.get("getPortfolioBalances", f"{BALANCES}&includeUnlisted=true")
        found = rows_of(body)
        assert {name: found[name]["spamReasons"] for name in cases} == cases
        assert not any(found[name]["counted"] or found[name]["valueUsd"] for name in cases)
        assert (found[plain]["spam"], found[plain]["listed"]) == (False, False)
        marks = [row["spam"] for row in body["data"]]
        assert marks == sorted(marks)  # spam comes last
        named = await service.get("getPortfolioBalances", f"{BALANCES}&tokens={plain}")
        assert named["data"][0]["spam"] is None


async def test_hostile_tokens_cost_their_own_line_and_no_total(service):
    usdc = service.token("USDC")
    bad = dict(zip(stubs(3, 0x100), (REVERTS, BURNS, "0x"), strict=True))
    for name, code in bad.items():
        if code != "0x":
            service.put(code, name)
    long_text = stubs(1, 0x200)[0]
    service.put(HUGE_TEXT, long_text)  # answers everything with 8 kB of zeros
    bomb = service.give("A" * 20_000, "\u202e" * 3_000)
    service.fill()
    service.say_received([*bad, long_text])
    async with service.serving(usd={usdc.address: 1.0}, listed=("USDC",)):
        body = await service.get("getPortfolioBalances", BALANCES)
        assert {row["token"] for row in body["partial"]} == set(bad)
        row = rows_of(body)[bomb]
        assert (row["token"]["symbol"], row["token"]["name"], row["amount"]) == (None, None, "1000000")
        assert body["totalComplete"]


async def test_what_an_index_cannot_tell_is_named(service):
    usdc = service.token("USDC")
    service.fill()
    async with service.serving(usd={usdc.address: 1.0}, listed=("USDC",)):
        assert (await service.get("getPortfolioBalances", BALANCES))["partial"] == []

        async def reasons(more=""):
            body = await service.get("getPortfolioBalances", BALANCES + more)
            return [(row["token"], row["reason"]) for row in body["partial"]], body["totalComplete"]

        with service.devnet.rpc() as rpc:
            rpc("anvil_mine", hex(MOST_BEHIND + 1))
        await service.api.gateway.runtime.chains[CHAIN].head(fresh=True)
        assert await reasons() == ([(None, "index_behind")], True)
        assert await reasons("&includeUnlisted=true") == ([(None, "index_behind")], False)
        service.store.drop_source(CHAIN, SOURCE)
        service.store.commit(Commit(CHAIN, read=[Span(SOURCE, VERSION, 5, 9)]))
        assert await reasons() == ([(None, "index_incomplete")], True)
        service.store.close()
        assert await reasons() == ([(None, "index_unavailable")], True)


@pytest.mark.slow
async def test_a_thousand_tokens_are_read_at_one_block_by_few_requests(service):
    names = stubs(1_000)
    service.put(STUB, *names)
    service.say_received(names)
    async with service.serving(listed=()):
        await service.get("getPortfolioBalances", BALANCES)
        asked = []
        for _ in range(10):
            service.rpc.asked.clear()
            body = (await service.api.get(BALANCES)).body
            asked.append(service.rpc.asked.count("eth_call"))
            assert {name: row["amount"] for name, row in rows_of(body).items()} == {
                name: str(int(name[-4:], 16)) for name in names
            }
            assert len(body["asOf"]) == 1
            assert body["partial"] == []
        # What is learned of a token once is asked beside the first answers, in the background.
        assert min(asked) <= MOST_CALLS, asked
