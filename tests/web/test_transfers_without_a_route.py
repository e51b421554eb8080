"""Transfers that no route leads to are 502, also between networks and of tokens that nobody knows."""

import pytest

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ETH = "native"


@pytest.mark.parametrize(
    "change",
    [
        {"fromChain": "polygon", "minBlock": 10**9},
        {"toChain": "999"},
        {"toChain": "devnetl2"},
        {"toChain": "eip155:999"},
        {"fromChain": "Nowhere", "toChain": "elsewhere"},
        {"fromToken": OTHER},
        {"toToken": OTHER},
    ],
    ids=str,
)
async def test_networks_and_tokens_without_a_route_are_no_wrong_members_of_a_transfer(fakes, refused, change):
    """Rule 1 of the contract's errors: 502 also for networks and tokens that nobody knows."""
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": ETH, "toToken": fakes.weth}
    body |= {"amount": "7", "address": WALLET}
    answer = await fakes.post("/v2/bridges/quote", body | change)
    details = refused(answer, 502, "upstream_error", "no_route")
    assert details["retryable"] is False
    if change.get("toChain") == "devnetl2":
        assert "Did you mean 'devnet-l2'?" in answer.body["error"]["message"]
    wrong = await fakes.post("/v2/bridges/quote", body | change | {"amount": "seven"})
    refused(wrong, 422, "validation_error", "invalid_format")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fromChain": "no network"}, "unsupported_network"),
        ({"fromChain": 7}, "invalid_format"),
        ({"fromChain": "999", "toChain": "999"}, "conflict"),
        ({"fromToken": "0x12"}, "invalid_format"),
    ],
    ids=str,
)
async def test_bad_formats_of_a_transfer_stay_wrong_members(fakes, refused, change, reason):
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": ETH, "toToken": fakes.weth}
    body |= {"amount": "7", "address": WALLET}
    refused(await fakes.post("/v2/bridges/quote", body | change), 422, "validation_error", reason)


async def test_without_any_bridge_a_transfer_is_off_wherever_it_leads(api, refused):
    body = {"fromToken": ETH, "toToken": ETH, "amount": "7", "address": WALLET, "fromChain": "ethereum"}
    answer = await api.post("/v2/bridges/quote", {**body, "toChain": "polygon"})
    refused(answer, 503, "provider_unavailable", "capability_disabled")
