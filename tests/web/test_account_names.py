"""Accounts by their names in the Ethereum Name Service, whose published contracts run on the devnet."""

from dataclasses import replace

import pytest
from ens_contracts import NameService
from quoteway.config.network import NetworkConfig
from quoteway.evm.ens import is_normal, namehash
from quoteway.networks import Endpoint, Network

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ALICE = "0x00000000000000000000000000000000000A11CE"
BOB = "0x0000000000000000000000000000000000000B0b"
SWAP = {"network": "devnet", "fromToken": "native", "toToken": "weth", "amount": "1000", "address": WALLET}


@pytest.fixture
def names(fresh_devnet):
    with fresh_devnet.rpc("devnet") as rpc:
        yield NameService(rpc)


@pytest.fixture
async def api(serve_app, fake_plugin, make_config, names):
    config = replace(make_config(), networks={"devnet": NetworkConfig(ens_registry=names.registry)})
    served = await serve_app({"fakes": fake_plugin}, config=config)
    served.weth = fake_plugin.weth
    return served


async def refusal(api, name, reason, member="toAddress"):
    """Returns the message that refuses a name."""
    answer = await api.post("/v2/swaps/quote", {**SWAP, member: name})
    assert (answer.status, answer.body["error"]["code"]) == (422, "validation_error"), answer.body
    (field,) = answer.body["error"]["details"]["fields"]
    assert (field["path"], field["reason"]) == (member, reason)
    return field["message"]


async def test_wallets_by_name(api, names):
    names.register("alice.eth", ALICE)
    names.register("me.eth", WALLET)
    block = int(names.rpc("eth_blockNumber"), 16)
    named = await api.get(f"/v2/portfolio/balances?wallet=me.eth&network=devnet&minBlock={block}")
    assert named.status == 200, named.body
    assert named.body["wallet"] == WALLET
    everywhere = await api.get("/v2/portfolio/balances?wallet=me.eth")
    assert everywhere.body["wallet"] == WALLET, "one network of the deployment has names"
    several = await api.post(
        "/v2/portfolio/balances", {"wallets": ["me.eth", "alice.eth"], "network": "devnet"}
    )
    assert [each["wallet"].lower() for each in several.body["data"]] == [WALLET.lower(), ALICE.lower()]


async def test_the_sender_and_the_recipient_of_a_fee_by_name(api, names, refused):
    names.register("me.eth", WALLET)
    quote = await api.post("/v2/swaps/quote", {**SWAP, "address": "me.eth"})
    assert quote.body["request"]["address"] == quote.body["request"]["toAddress"] == WALLET
    fee = {"feeBps": 10, "feeRecipient": "me.eth"}
    details = refused(await api.post("/v2/swaps/quote", {**SWAP, **fee}), 422, "validation_error", "conflict")
    assert details["fields"][0]["path"] == "feeRecipient", "the checks are made of the addresses"


async def test_names_that_nobody_has_or_had(api, names):
    assert "nobody has registered" in await refusal(api, "nobody.eth", "unresolved_name")
    names.register("empty.eth")
    assert "without a resolver" in await refusal(api, "empty.eth", "unresolved_name")
    names.register("zero.eth", resolver=names.resolver)
    assert "without an address" in await refusal(api, "zero.eth", "unresolved_name")
    names.register("old.eth", ALICE, lifetime_s=1)
    names.rpc("anvil_mine", hex(2), hex(2))
    assert "has expired" in await refusal(api, "old.eth", "unresolved_name")
    names.register("deep.eth", ALICE)
    assert "without a resolver" in await refusal(api, "sub.deep.eth", "unresolved_name")


async def test_a_name_below_another_one_and_of_another_root(api, names):
    names.register("alice.eth", ALICE)
    names.own(namehash("alice.eth"), "pay", names.account)
    names.resolve("pay.alice.eth", BOB)
    names.own(bytes(32), "org", names.account)
    names.own(namehash("org"), "club", names.account)
    names.resolve("club.org", ALICE)
    for name, account in (("pay.alice.eth", BOB), ("club.org", ALICE)):
        quote = await api.post("/v2/swaps/quote", {**SWAP, "address": name})
        assert quote.body["request"]["toAddress"].lower() == account.lower()


@pytest.mark.parametrize(
    ("runtime", "told"),
    [
        ("60015f5260205ff3", "kept off the chain"),  # says yes to every interface
        ("63556f183060e01b5f5260045ffd", "kept off the chain"),  # OffchainLookup
        ("5b5f56", "without an address"),  # burns all its gas
        ("60016101005260206101005ff3", "without an address"),  # an odd length
        ("620fffff5ff3", "without an address"),  # a megabyte
        ("5f5ffd", "without an address"),
        ("7f" + "ff" * 20 + "00" * 12 + "5f5260205ff3", "kept off the chain"),  # no address
    ],
)
async def test_a_resolver_that_lies(api, names, runtime, told):
    names.register("good.eth", ALICE)
    names.register("bad.eth", resolver=names.code(runtime))
    assert told in await refusal(api, "bad.eth", "unresolved_name")
    quote = await api.post("/v2/swaps/quote", {**SWAP, "address": "good.eth"})
    assert quote.status == 200, "what it costs is its own"


async def test_several_wrong_names_are_told_at_once(api, names, refused):
    names.register("alice.eth", ALICE)
    body = {**SWAP, "address": "nobody.eth", "toAddress": "alice.eth", "toToken": "none"}
    details = refused(await api.post("/v2/swaps/quote", body), 422, "validation_error")
    assert {field["path"]: field["reason"] for field in details["fields"]} == {
        "address": "unresolved_name",
        "toToken": "unsupported_token",
    }


async def test_a_network_without_names(api, fakes, refused):
    body = {**SWAP, "network": "devnet-l2", "toToken": "native", "fromToken": BOB, "toAddress": "alice.eth"}
    details = refused(await api.post("/v2/swaps/quote", body), 422, "validation_error", "unsupported_network")
    assert "accounts have no names on devnet-l2" in details["fields"][0]["message"]
    answer = await fakes.get("/v2/portfolio/balances?wallet=alice.eth")
    assert (
        "name its network too" in refused(answer, 422, "validation_error", "conflict")["fields"][0]["message"]
    )


@pytest.mark.parametrize(
    "name",
    [
        "Alice.eth",
        "alice\u200b.eth",
        "\u0430lice.eth",
        "\u24d0lice.eth",
        "ab--c.eth",
        "a_b.eth",
        "alice..eth",
        ".eth",
        "alice.eth.",
        "alice.eth ",
        "al ice.eth",
        f"{'a' * 252}.eth",
        "..",
        "http://alice.eth/",
    ],
)
async def test_a_name_that_is_not_in_normal_form(api, name):
    assert "ENSIP-15" in await refusal(api, name, "invalid_format")


async def test_a_text_without_labels_is_refused_as_before(api):
    assert "an address starts with 0x" in await refusal(api, "alice", "invalid_format")
    assert "40 hexadecimal digits" in await refusal(api, "0x12.eth", "invalid_format")


async def test_a_node_that_fails_is_no_wrong_name(serve_app, fake_plugin, make_config, names, refused):
    settings = NetworkConfig(ens_registry=names.registry, rpc=(Endpoint("http://127.0.0.1:9/never"),))
    config = replace(make_config(), networks={"devnet": settings})
    api = await serve_app({"fakes": fake_plugin}, config=config)
    body = {**SWAP, "toToken": BOB, "toAddress": "alice.eth"}
    refused(await api.post("/v2/swaps/quote", body), 502, "upstream_error")


async def test_only_the_operator_says_whom_a_name_means(serve_app, fake_plugin, names, refused):
    fake_plugin._networks = [replace(each, ens_registry=names.registry) for each in fake_plugin._networks]
    api = await serve_app({"fakes": fake_plugin})
    names.register("alice.eth", ALICE)
    answer = await api.post("/v2/swaps/quote", {**SWAP, "toAddress": "alice.eth"})
    refused(answer, 422, "validation_error", "unsupported_network")


def test_the_registry_of_ethereum_is_known():
    from quoteway.evm.ens import REGISTRIES

    assert REGISTRIES[1] == "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"
    assert Network("ethereum", 1, "Ethereum").ens_registry is None, "no plugin has to know it"


@pytest.mark.parametrize(
    ("name", "node"),
    [  # EIP-137
        ("eth", "93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"),
        ("foo.eth", "de9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f"),
    ],
)
def test_namehash(name, node):
    assert namehash(name).hex() == node


@pytest.mark.parametrize("name", ["vitalik.eth", "a-b.c", "_dmarc.example.com", "__x.eth", "1.2", "-.eth"])
def test_normal_names(name):
    assert is_normal(name)
