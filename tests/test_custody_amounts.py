"""Amounts per time of a custody policy: held by a real Valkey or Redis, released by the chain alone."""

# ruff: noqa: F811 - fixtures are imported

import asyncio
import json
import random
from dataclasses import replace

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import random_actions  # noqa: E402
from counted_desk import chain_of, desk, served_desk, store  # noqa: E402, F401
from counting_wallet import HOUR, THIRD, Wallet, counted, sent  # noqa: E402
from direct_client import OTHER, USER  # noqa: E402
from quoteway.config.policy import PolicyConfig  # noqa: E402
from quoteway.engine.amounts_per_time import UNDECIDED  # noqa: E402
from quoteway.engine.gateway import Gateway  # noqa: E402
from quoteway.engine.held_amounts import StoreUnavailable  # noqa: E402
from quoteway.errors import ConfigError  # noqa: E402

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


def limited(desk, amount="1000", per="sender", token="USDC", **members):
    limit = {"name": "a limit", "network": "devnet", "token": desk.token(token), "amount": amount}
    return {"name": "all", "amounts_per_time": [limit | {"window_s": HOUR, "per": per} | members]}


# --- the start ----------------------------------------------------------------------------------------------


async def test_a_policy_that_counts_needs_a_shared_store(make_config, tmp_path):
    file = tmp_path / "policy.toml"
    limit = f'network = "devnet"\ntoken = "native"\namount = "1"\nwindow_s = {HOUR}\nper = "sender"\n'
    file.write_text('[[rules]]\nname = "a"\n[[rules.amounts_per_time]]\nname = "b"\n' + limit)
    config = replace(make_config(), policy=PolicyConfig(file=str(file)))
    with pytest.raises(ConfigError, match=r"policy\.store is not set.*name a Valkey or Redis server"):
        Gateway(config, discover=False)
    Gateway(replace(config, policy=replace(config.policy, store="redis://127.0.0.1:1")), discover=False)


# --- over HTTP ----------------------------------------------------------------------------------------------


async def test_without_an_answer_of_the_store_no_action_is_made(served_desk, tmp_path, unused_tcp_port):
    quote, log = await served_desk.quote_swap(amount=10**6), tmp_path / "decisions.jsonl"
    async with counted(served_desk, f"redis://:secret@127.0.0.1:{unused_tcp_port}/0"):
        served_desk.follow(limited(served_desk), audit=log)
        answer = await served_desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
        await served_desk.api.check("createSwapAction", answer)
        error = answer.refused(503, "provider_unavailable", "policy_undecided")
        assert error["details"]["retryable"] is True
        assert [each["rule"] for each in error["details"]["violations"]] == ["amounts_per_time"]
        assert "secret" not in json.dumps(answer.body)
        assert "127.0.0.1" not in json.dumps(answer.body)
        (line,) = log.read_text().splitlines()
        assert json.loads(line)["violations"][0]["message"] == UNDECIDED.message
        # What the facts alone refuse is refused, whether the store answers or not.
        served_desk.follow(limited(served_desk) | {"kinds": []})
        assert await served_desk.refused(quote) == {"kinds": ["swap"]}
        # A token without a limit needs no store.
        served_desk.follow(limited(served_desk, token="WETH"))
        assert (await served_desk.act(quote))["policy"]


@pytest.mark.services
async def test_actions_count_until_the_limit(desk):
    usdc = desk.token("USDC")
    desk.follow(limited(desk))
    first = await desk.quote_swap(amount=600 * 10**6)
    for _ in range(3):  # the same transactions count once
        action = await desk.act(first)
    assert action["policy"]
    over = await desk.quote_swap(amount=401 * 10**6)
    assert await desk.refused(over) == {"amounts_per_time": [usdc]}
    assert (await desk.act(await desk.quote_swap(amount=400 * 10**6)))["policy"]
    assert await desk.refused(await desk.quote_swap(amount=1)) == {"amounts_per_time": [usdc]}
    # What is held already stays: the first action is made again.
    assert (await desk.act(first))["policy"]
    other = await desk.quote_swap(amount=10**9, address=OTHER)
    assert (await desk.act(other))["policy"]
    desk.follow(limited(desk, per="rule"))
    assert (await desk.act(await desk.quote_swap(amount=700 * 10**6)))["policy"]
    third = await desk.quote_swap(amount=301 * 10**6, address=OTHER)
    assert await desk.refused(third) == {"amounts_per_time": [usdc]}


@pytest.mark.services
async def test_one_action_above_the_limit_is_told_with_what_is_used(desk):
    desk.follow(limited(desk, amount="0.5", token="ETH"))
    quote = await desk.quote_swap("ETH", "USDC", 10**18)
    answer = await desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    (told,) = answer.refused(403, "validation_error", "policy_refused")["details"]["violations"]
    expected = "0 count as used within 3600 s, and 500000000000000000 are allowed by 'a limit' (rule 'all')"
    assert expected in told["message"]


@pytest.mark.services
async def test_requests_at_once_do_not_exceed_the_limit(desk):
    quotes = [await desk.quote_swap(amount=100 * 10**6 + number) for number in range(16)]
    desk.follow(limited(desk))
    answers = await asyncio.gather(
        *(desk.api.post(f"/v2/swaps/{quote['quoteId']}/action") for quote in quotes)
    )
    assert sorted(answer.status for answer in answers) == [201] * 9 + [403] * 7


@pytest.mark.services
async def test_a_transaction_that_is_reported_over_http_is_known(desk, chain_of):
    desk.follow(limited(desk))
    action = await desk.act(await desk.quote_swap(amount=10**6))
    transaction, step = action["transactions"][0], action["steps"][0]
    nonce = int(await chain_of("eth_getTransactionCount", USER, "latest"), 16)
    tx_hash = await sent(chain_of, transaction["to"], transaction["data"])
    answer = await desk.api.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": tx_hash})
    assert answer.status == 200, answer.body
    held = desk.api.gateway.building.custody.amounts.held
    assert await held.told(f"31337/{USER}", [nonce]) == {nonce: tx_hash}


@pytest.mark.services
async def test_a_store_that_loses_its_data_stops_actions(desk, store):
    from valkey.asyncio import Valkey

    desk.follow(limited(desk))
    await desk.act(await desk.quote_swap(amount=10**6))
    async with Valkey.from_url(store.replace("redis", "valkey", 1)) as client:
        await client.flushall()
    quote = await desk.quote_swap(amount=10**6)
    answer = await desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    answer.refused(503, "provider_unavailable", "policy_undecided")
    with pytest.raises(StoreUnavailable):
        await desk.api.gateway.building.custody.amounts.held.hold("1", 0, b"", [])


# --- what was not executed ----------------------------------------------------------------------------------


@pytest.fixture
def wallet(desk, chain_of):
    return Wallet(desk.api.gateway.building.custody.amounts, chain_of)


@pytest.mark.services
async def test_an_action_whose_wallet_sent_nothing_stops_counting_after_its_deadline(wallet):
    assert await wallet.takes(10)
    assert not await wallet.takes(1)
    await wallet.wait(100)  # past the deadline, not yet beyond what a reorganisation may bring back
    assert not await wallet.takes(1)
    await wallet.wait(300)
    assert await wallet.takes(10)


@pytest.mark.services
async def test_an_action_that_was_executed_counts(wallet, chain_of):
    assert await wallet.takes(10)
    tx_hash = await sent(chain_of, OTHER, value=10)
    await wallet.wait(400)
    assert not await wallet.takes(1)
    await wallet.report(tx_hash)
    assert not await wallet.takes(1)


@pytest.mark.services
async def test_an_action_stops_counting_when_every_transaction_since_is_reported_and_another(
    wallet, chain_of
):
    assert await wallet.takes(10)
    hashes = [await sent(chain_of, OTHER, value=9), await sent(chain_of, THIRD, value=10)]
    await wallet.wait(400)
    assert not await wallet.takes(1)
    await wallet.report(hashes[0])
    assert not await wallet.takes(1)
    await wallet.report(hashes[1])
    assert await wallet.takes(10)


@pytest.mark.services
async def test_a_report_of_another_wallet_or_of_a_block_that_is_gone_releases_nothing(wallet, chain_of):
    assert await wallet.takes(10)
    before = await chain_of("evm_snapshot")
    cancelled = await sent(chain_of, USER)
    await wallet.report(cancelled)
    await chain_of("evm_revert", before)  # a reorganisation: the nonce is used by the action after all
    await sent(chain_of, OTHER, value=10)
    foreign = await sent(chain_of, THIRD, sender=OTHER)
    await wallet.report(foreign)
    await wallet.wait(400)
    assert not await wallet.takes(1)


@pytest.mark.services
@pytest.mark.parametrize("lacking", ["deadline", "one transaction", "one part"])
async def test_what_could_still_be_executed_counts(wallet, lacking):
    action = random_actions.action(random.Random(1))
    step = replace(action.steps[0], approval=None)
    part = random_actions.part(random.Random(1))
    changes = {
        "deadline": {"deadline": None},
        "one transaction": {"steps": (step, step)},
        "one part": {"parts": (part, part)},
    }
    assert await wallet.takes(10, **changes[lacking])
    await wallet.wait(400)
    assert not await wallet.takes(1)


@pytest.mark.services
async def test_a_contract_wallet_proves_nothing_by_its_nonce(wallet, chain_of):
    await chain_of("anvil_setCode", USER, "0x00")
    assert await wallet.takes(10)
    await chain_of("anvil_setCode", USER, "0x")
    await wallet.wait(400)
    assert not await wallet.takes(1)
