"""The catalog in a running gateway: listed and unlisted tokens of the devnet."""

import secrets

import pytest
from odd_tokens import contract, erc20, text, word
from quoteway import NATIVE
from quoteway.evm.address import checksum
from served_catalog import DEVNET, USDC, total_supply

# --- listed tokens ----------------------------------------------------------------------------------------


async def test_the_devnets_tokens_are_listed_by_slug(start):
    catalog = await start()
    listed = {profile.id: profile for profile in await catalog.tokens(None)}
    assert [contract.chain_id for contract in listed["usdc"].contracts] == [31337, 31338]
    assert [contract.address for contract in listed["eth"].contracts] == [NATIVE, NATIVE]
    assert {c.address for p in await catalog.tokens(31337) for c in p.contracts} == {
        NATIVE,
        *(token.address for token in DEVNET.tokens),
    }
    assert await catalog.tokens(1) == ()  # not a network of this deployment
    assert catalog.networks == {31337, 31338}


async def test_listed_decimals_agree_with_every_contract_of_the_devnet(start, caplog):
    catalog = await start()
    for profile in await catalog.tokens(None):
        for listed in profile.contracts:
            assert await catalog.token(listed.chain_id, listed.address) == listed
    assert "decimals" not in caplog.text


async def test_profile_of_one_contract_has_the_chains_total_supply(start, devnet):
    catalog = await start()
    profile = await catalog.profile(f"31337:{USDC}")
    supply = total_supply(devnet, USDC)
    assert supply > 10**6
    assert profile.total_supply == f"{supply // 10**6}" + (f".{supply % 10**6:06}".rstrip("0").rstrip("."))
    assert (profile.id, profile.symbol, profile.listed) == ("usdc", "USDC", True)
    assert [contract.chain_id for contract in profile.contracts] == [31337]
    unknown = (profile.price_usd, profile.market_cap_usd, profile.holders, profile.circulating_supply)
    assert unknown == (None, None, None, None)


async def test_profile_by_slug_spans_networks_and_adds_no_supplies(start):
    catalog = await start()
    profile = await catalog.profile("usdc")
    assert len(profile.contracts) == 2
    assert profile.total_supply is None


@pytest.mark.parametrize("alias", [NATIVE, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "native"])
async def test_native_coin(start, alias):
    catalog = await start()
    profile = await catalog.profile(f"31337:{alias}")
    assert (profile.id, profile.symbol, profile.contracts[0].address) == ("eth", "ETH", NATIVE)
    assert (await catalog.token(31337, alias)).is_native


@pytest.mark.parametrize(
    "token_id",
    [
        "",
        ":",
        "nothing",
        "1:" + USDC,
        "31337:",
        "31337:0x12",
        f"31337:{USDC[:-1]}G",
        f"x:{USDC}",
        "31337:" + USDC.replace("0x08", "0x09"),  # nothing is deployed there
        "9" * 5000,
        f"31337:{USDC}" + " " * 100,
        "\u202e",
    ],
)
async def test_unknown_ids_are_none(start, token_id):
    catalog = await start()
    assert await catalog.profile(token_id) is None


async def test_ids_accept_every_form_of_the_network(start):
    catalog = await start()
    expected = await catalog.profile(f"31337:{USDC}")
    for spelling in (f"devnet:{USDC}", f"eip155:31337:{USDC}", f"31337:{USDC.lower()}"):
        assert (await catalog.profile(spelling)).contracts == expected.contracts


async def test_an_address_with_a_wrong_checksum_is_no_token(start):
    catalog = await start()
    wrong = USDC.swapcase().replace("0X", "0x")
    assert await catalog.profile(f"31337:{wrong}") is None
    assert await catalog.token(31337, wrong) is None


# --- unlisted tokens --------------------------------------------------------------------------------------


async def test_an_unlisted_token_is_read_from_the_chain(start, place):
    catalog = await start()
    address = place(erc20(text("ODD"), text("Odd Token"), 7, supply=123_4500000))
    profile = await catalog.profile(f"31337:{address}")
    assert (profile.id, profile.symbol, profile.name) == (f"31337:{address}", "ODD", "Odd Token")
    assert (profile.contracts[0].decimals, profile.total_supply) == (7, "123.45")
    assert (profile.tags, profile.listed) == (("unlisted",), False)
    assert address not in {c.address for p in await catalog.tokens(31337) for c in p.contracts}
    assert (await catalog.token(31337, address)).decimals == 7


async def test_symbol_and_name_as_bytes32(start, place):
    catalog = await start()
    address = place(erc20(b"MKR".ljust(32, b"\0"), b"Maker".ljust(32, b"\0"), 18))
    token = await catalog.token(31337, address)
    assert (token.symbol, token.name, token.decimals) == ("MKR", "Maker", 18)


@pytest.mark.parametrize(
    "name",
    ["N" * 10_000, "USD\u0421", "\u202eCDSU", "a\x00b", "two\nlines", "\U0001d414SDC"],
    ids=lambda name: ascii(name[:9]),
)
async def test_unsafe_text_is_left_out_and_the_token_is_kept(start, place, name):
    catalog = await start()
    address = place(erc20(text("OK"), text(name), 6, supply=5))
    token = await catalog.token(31337, address)
    assert (token.symbol, token.name, token.decimals) == ("OK", None, 6)
    profile = await catalog.profile(f"31337:{address}")
    assert (profile.name, profile.total_supply) == ("", "0.000005")
    token = await catalog.token(31337, place(erc20(text(name), text("OK"), 6)))
    assert (token.symbol, token.name, token.decimals) == (None, "OK", 6)


@pytest.mark.parametrize(
    "answers",
    [
        {"symbol()": text("NFT"), "name()": text("Picture"), "totalSupply()": word(5)},
        {"decimals()": word(256), "totalSupply()": word(5)},
        {"decimals()": b"\x12", "totalSupply()": word(5)},
        {},
    ],
)
async def test_a_contract_without_usable_decimals_is_no_token(start, place, answers):
    catalog = await start()
    address = place(contract(answers))
    assert await catalog.token(31337, address) is None
    assert await catalog.profile(f"31337:{address}") is None


async def test_the_largest_supply_and_the_most_decimals_stay_exact(start, place):
    catalog = await start()
    address = place(erc20(text("MAX"), text("Max"), 255, supply=2**256 - 1))
    supply = (await catalog.profile(f"31337:{address}")).total_supply
    assert supply == "0." + str(2**256 - 1).zfill(255).rstrip("0")


async def test_absence_is_cached_for_a_short_time(start, devnet):
    catalog = await start()
    address = checksum("0x" + secrets.token_hex(20))
    assert await catalog.token(31337, address) is None
    with devnet.rpc() as rpc:
        rpc("anvil_setCode", address, "0x" + erc20(text("NEW"), text("New"), 9).hex())
        rpc("evm_mine")
    catalog.rpc.down = True  # a request would fail
    assert await catalog.token(31337, address) is None
    catalog.rpc.down = False
    catalog.clock.offset_s = 31
    assert (await catalog.token(31337, address)).decimals == 9
