"""Requests that name tokens by symbol, id or CAIP-19 id, over catalogs that disagree, forge and fail."""

import pytest
from quoteway import NATIVE, Capability, Network, Token, TokenCatalog, TokenProfile
from quoteway.evm.asset_ids import AssetId, parse_asset_id
from quoteway.testing.fakes import FakePlugin, ListedPrices, MemoryRpc

A, B, C, D, E = (f"0x{number:040d}" for number in range(1, 6))
NETWORKS = (
    Network("seven", 7, "Seven"),
    Network("eight", 8, "Eight", native_symbol="POL", native_name="POL"),
)


def token(address, symbol, chain_id=7, decimals=18):
    return Token(chain_id, address, decimals, symbol, f"{symbol} Coin")


def row(token, token_id=None):
    return TokenProfile(token_id or token.symbol.lower(), token.name, token.symbol, 5, (token,))


class Listing(TokenCatalog):
    """Lists ``rows``; fails while it has none."""

    title = "Listing"
    networks = frozenset({7, 8})

    def __init__(self, name, *rows):
        self.id, self.rows = name, rows

    async def tokens(self, chain_id):
        if not self.rows:
            raise ValueError
        return self.rows

    async def profile(self, token_id):
        keys = ((f"{t.chain_id}:{t.address}", each) for each in self.rows for t in each.contracts)
        return dict(keys).get(token_id)

    async def token(self, chain_id, address):
        return None


EARTH, MARS = token(A, "EARTH"), token(B, "MARS")


@pytest.fixture
def serve(serve_app):
    async def serve(*catalogs, on_chain=()):
        own = [each for catalog in catalogs for profile in catalog.rows for each in profile.contracts]
        rpc = MemoryRpc({7, 8}, tokens=[*own, *on_chain])
        prices = ListedPrices({7, 8}, {each.address: 2.0 for each in own})
        plugins = {each.id: FakePlugin([each]) for each in catalogs}
        api = await serve_app({"node": FakePlugin([rpc, prices], networks=NETWORKS), **plugins})
        api.rpc = rpc
        return api

    return serve


async def meant(api, name, network="seven"):
    """Returns the address that a name means, in an answer."""
    answer = await api.get(f"/v2/prices?network={network}&tokens={name.replace('+', '%2B')}")
    assert answer.status == 200, answer.body
    (row,) = answer.body["data"]
    return row["token"]["address"]


async def refusal(api, name, reason, network="seven"):
    """Returns the refusal of a name."""
    answer = await api.get(f"/v2/prices?network={network}&tokens={name}")
    assert (answer.status, answer.body["error"]["code"]) == (422, "validation_error"), answer.body
    (field,) = answer.body["error"]["details"]["fields"]
    assert (field["path"], field["reason"]) == ("tokens", reason)
    return field


@pytest.mark.parametrize(
    "name",
    [A, "EARTH", "earth", "Earth", "planet-3", f"eip155:7/erc20:{A}", f"7:{A}"],
)
async def test_a_token_is_named_in_every_form(serve, name):
    api = await serve(Listing("one", row(EARTH, "planet-3"), row(MARS)))
    assert await meant(api, name) == A


@pytest.mark.parametrize("name", ["native", "ETH", "eth", "eip155:7/slip44:60", NATIVE])
async def test_the_coin_is_named_by_its_symbol_whatever_is_listed(serve, name):
    api = await serve(Listing("one", row(token(C, "ETH"))))
    assert await meant(api, name) == NATIVE


async def test_a_coin_that_is_not_ether_has_no_slip44_number_here(serve):
    api = await serve(Listing("one", row(EARTH)))
    assert await meant(api, "pol", "eight") == NATIVE
    field = await refusal(api, "eip155:8/slip44:60", "unsupported_token", "eight")
    assert "`native` names it" in field["message"]


async def test_several_listed_tokens_of_one_symbol_are_shown_and_none_is_taken(serve, contract, refused):
    forged = token(C, "earth")
    api = await serve(Listing("one", row(EARTH)), Listing("two", row(forged, "earth-2")))
    field = await refusal(api, "EARTH", "ambiguous_token")
    assert field["candidates"] == [
        {"address": A, "id": "earth", "name": "EARTH Coin"},
        {"address": C, "id": "earth-2", "name": "earth Coin"},
    ]
    assert await meant(api, "earth-2") == C
    answer = await api.get("/v2/prices?network=seven&tokens=earth")
    contract.check("getPrices", answer)


async def test_two_catalogs_that_agree_name_one_token(serve):
    api = await serve(Listing("one", row(EARTH)), Listing("two", row(EARTH, "world")))
    assert await meant(api, "earth") == await meant(api, "world") == A


async def test_an_id_that_is_the_symbol_of_another_token_names_none_of_them(serve):
    api = await serve(Listing("one", row(EARTH, "terra"), row(token(C, "TERRA"), "other")))
    await refusal(api, "terra", "ambiguous_token")
    assert await meant(api, "earth") == A


async def test_a_row_with_other_decimals_than_the_contract_names_nothing(serve):
    wrong = token(C, "EARTH", decimals=6)
    api = await serve(
        Listing("one", row(EARTH)), Listing("two", row(wrong, "x")), on_chain=[token(C, "EARTH")]
    )
    assert await meant(api, "EARTH") == A
    await refusal(api, "x", "unsupported_token")


async def test_a_symbol_of_another_network_names_nothing(serve):
    api = await serve(Listing("one", row(EARTH), row(token(C, "VENUS", 8))))
    await refusal(api, "VENUS", "unsupported_token")
    assert await meant(api, "VENUS", "eight") == C
    field = await refusal(api, f"eip155:8/erc20:{C}", "conflict")
    assert field["message"] == "tokens item 1 names a token of another network than seven."


@pytest.mark.parametrize(
    "name",
    [
        "E\u0410RTH",  # Cyrillic
        "EARTH\u200b",  # a space of no width
        "\uff25ARTH",  # full width
        "EARTH%00",
        "EAR TH",
        "x" * 65,
        "eip155:7/erc20:0x12",
        "eip155:7/slip44:966",
        "eip155:07/slip44:60",
        "bip122:7/slip44:60",
        "earth/../mars",
        "'",
    ],
)
async def test_what_only_looks_like_a_name_is_refused_by_its_form(serve, name):
    api = await serve(Listing("one", row(EARTH)))
    await refusal(api, name, "invalid_format")


@pytest.mark.parametrize("symbol", ["E\u0410RTH", "\uff25ARTH", "EART\u212a", "EARTH "])
async def test_a_listed_symbol_that_looks_like_a_name_is_not_named_by_it(serve, symbol):
    api = await serve(Listing("one", row(token(C, symbol), "forged"), row(MARS)))
    await refusal(api, "EARTH", "unsupported_token")
    await refusal(api, "EARTK", "unsupported_token")


async def test_an_unknown_name_is_answered_with_what_was_meant(serve):
    api = await serve(Listing("one", row(EARTH), row(MARS)))
    field = await refusal(api, "EARHT", "unsupported_token")
    assert field["message"] == "tokens item 1 names no listed token of seven. Did you mean 'EARTH'?"
    field = await refusal(api, "nonsense", "unsupported_token")
    assert "GET /v2/tokens?query= finds listed tokens" in field["message"]


async def test_more_tokens_of_one_name_than_are_shown(serve):
    many = [row(token(f"0x{100 + at:040d}", "EARTH"), f"earth-{at}") for at in range(9)]
    api = await serve(Listing("one", *many))
    field = await refusal(api, "EARTH", "ambiguous_token")
    assert len(field["candidates"]) == 8
    assert "names 9 listed tokens of seven" in field["message"]


async def test_no_symbol_is_taken_while_a_catalog_is_unread(serve, refused):
    """The other catalog may list the token that is meant, or another one of that symbol."""
    api = await serve(Listing("one", row(EARTH)), Listing("broken"))
    answer = await api.get("/v2/prices?network=seven&tokens=EARTH")
    details = refused(answer, 502, "upstream_error")
    assert details["retryable"] is True
    assert "'broken' has not been read yet" in answer.body["error"]["message"]
    assert await meant(api, A) == A
    assert await meant(api, "ETH") == NATIVE


async def test_names_cost_no_read_that_addresses_do_not(serve):
    api = await serve(Listing("one", row(EARTH), row(MARS)))
    await meant(api, "EARTH")
    before = len(api.rpc.calls)
    await meant(api, "EARTH")
    by_name = len(api.rpc.calls) - before
    await meant(api, A)
    assert by_name == len(api.rpc.calls) - before - by_name == 0


async def test_a_profile_by_its_caip_19_id(serve, refused):
    api = await serve(Listing("one", row(EARTH)))
    shown = await api.get(f"/v2/tokens/eip155:7%2Ferc20:{A}")
    assert (shown.status, shown.body["id"]) == (200, "earth")
    for unknown in (f"eip155:8%2Ferc20:{A}", f"eip155:7%2Ferc721:{A}", "eip155:7%2Fslip44:60"):
        refused(await api.get(f"/v2/tokens/{unknown}"), 404, "not_found")


async def test_all_wrong_names_of_a_list_are_told_at_once(serve, refused):
    api = await serve(Listing("one", row(EARTH)))
    answer = await api.get(f"/v2/prices?network=seven&tokens=EARTH,nobody,{A},none")
    details = refused(answer, 422, "validation_error", "unsupported_token")
    assert [field["message"].partition(" names")[0] for field in details["fields"]] == [
        "tokens item 2",
        "tokens item 4",
    ]


async def test_a_name_and_its_address_are_one_token(serve):
    api = await serve(Listing("one", row(EARTH)))
    answer = await api.get(f"/v2/prices?network=seven&tokens=EARTH,{A},earth,7:{A}")
    assert [row["token"]["address"] for row in answer.body["data"]] == [A]


async def test_a_wallet_is_asked_about_names_on_one_network_only(serve, refused):
    api = await serve(Listing("one", row(EARTH)))
    answer = await api.get(f"/v2/portfolio/balances?wallet={D}&tokens=EARTH")
    details = refused(answer, 422, "validation_error", "conflict")
    assert "name its network too" in details["fields"][0]["message"]
    body = {"wallets": [D], "tokens": ["EARTH", "nobody"], "network": "seven"}
    answer = await api.post("/v2/portfolio/balances", body)
    assert refused(answer, 422, "validation_error")["fields"][0]["message"].startswith(
        "tokens item 2 names no"
    )


async def test_a_revocation_names_its_token(serve, refused):
    api = await serve(Listing("one", row(EARTH)))
    body = {"address": D, "network": "seven", "approvals": [{"token": "MARS", "spender": E}]}
    answer = await api.post("/v2/portfolio/approvals/revoke", body)
    details = refused(answer, 422, "validation_error", "unsupported_token")
    assert details["fields"][0]["message"].startswith("approvals item 1 names no listed token")


SWAP = {"network": "devnet", "amount": "1000", "slippageBps": 50}


async def test_a_quote_by_names_is_the_quote_by_addresses(fakes):
    body = {**SWAP, "address": D}
    named = await fakes.post("/v2/swaps/quote", {**body, "fromToken": "eth", "toToken": "WETH"})
    assert named.status == 200, named.body
    echo = named.body["request"]
    assert (echo["fromToken"], echo["toToken"]) == (NATIVE, fakes.weth)
    ids = {"fromToken": "eip155:31337/slip44:60", "toToken": f"eip155:31337/erc20:{fakes.weth}"}
    assert (await fakes.post("/v2/swaps/quote", {**body, **ids})).body["request"] == echo
    sealed = fakes.gateway.quote_tokens.open(Capability.SWAP, named.body["quoteId"])
    assert (sealed.request.token_in.address, sealed.request.token_out.address) == (NATIVE, fakes.weth)
    several = await fakes.post(
        "/v2/swaps/quotes", {"quotes": [{**body, "fromToken": "eth", "toToken": "weth"}]}
    )
    assert several.body["results"][0]["quote"]["request"] == echo
    price = await fakes.get("/v2/swaps/price?network=devnet&fromToken=eth&toToken=weth&amount=1000")
    assert price.body["toToken"]["address"] == fakes.weth


async def test_two_names_of_one_token_are_no_swap(fakes, refused):
    body = {**SWAP, "address": D, "fromToken": "WETH", "toToken": fakes.weth}
    details = refused(await fakes.post("/v2/swaps/quote", body), 422, "validation_error", "conflict")
    assert [field["path"] for field in details["fields"]] == ["toToken"]


async def test_wrong_members_are_told_before_any_name_is_looked_up(fakes, refused):
    body = {**SWAP, "address": D, "fromToken": "nobody", "toToken": "none", "amount": "0"}
    details = refused(await fakes.post("/v2/swaps/quote", body), 422, "validation_error", "out_of_range")
    assert [field["path"] for field in details["fields"]] == ["amount"]


async def test_pools_and_vaults_take_names_on_their_network(fakes, refused):
    pool = (await fakes.get("/v2/pools?token=native")).body["data"][0]["id"]
    body = {"action": "add", "address": D, "amount": "10", "asset": "weth", "slippageBps": 50}
    assert (await fakes.post(f"/v2/pools/{pool}/quote", body)).body["request"]["asset"] == fakes.weth
    refused(
        await fakes.post(f"/v2/pools/{pool}/quote", {**body, "asset": "USDC"}),
        *(422, "validation_error", "unsupported_token"),
    )
    vault = (await fakes.get("/v2/vaults?asset=eip155:31337/slip44:60")).body["data"][0]["id"]
    body = {"action": "deposit", "address": D, "amount": "10", "asset": "eth", "slippageBps": 50}
    assert (await fakes.post(f"/v2/vaults/{vault}/quote", body)).body["request"]["asset"] == NATIVE
    unknown = f"7:{A}"
    refused(await fakes.post(f"/v2/vaults/{unknown}/quote", body), 404, "not_found")


async def test_an_unserved_network_of_a_transfer_stays_a_missing_route(fakes, refused):
    body = {"fromChain": "devnet", "toChain": "elsewhere", "address": D, "amount": "10", "slippageBps": 50}
    answer = await fakes.post("/v2/bridges/quote", {**body, "fromToken": "eth", "toToken": "USDC"})
    refused(answer, 502, "upstream_error", "no_route")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"eip155:1/erc20:{A}", AssetId(1, A)),
        ("eip155:1/slip44:60", AssetId(1, NATIVE)),
        (f"1:{A}", AssetId(1, A)),
        (f"eip155:1/erc721:{A}", None),
        ("eip155:0/slip44:60", None),
        ("eip155:1/slip44:60\n", None),
        ("EIP155:1/slip44:60", None),
        ("", None),
    ],
)
def test_asset_ids(text, expected):
    assert parse_asset_id(text) == expected


def test_an_asset_id_has_a_right_checksum():
    with pytest.raises(ValueError, match="checksum"):
        parse_asset_id("eip155:1/erc20:0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756CC2")
