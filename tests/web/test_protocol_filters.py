"""``protocol`` of lists: a name that nobody has is refused, with the one that was meant."""

import asyncio

import pytest
from quoteway.errors import UpstreamError
from quoteway.models import Pool, Token, Vault
from quoteway.networks import Network
from quoteway.testing.fakes import FakePlugin, FixedRateSwap, ListedPools, ListedVaults, MemoryRpc

NETWORKS = [Network("seven", 7, "Seven"), Network("eight", 8, "Eight")]


def item(chain_id, protocol, number):
    place = f"0x{number:040x}"
    network = {7: "seven", 8: "eight"}[chain_id]
    tokens = tuple(Token(chain_id, "0x" + digit * 40, 18, f"T{digit}", "T") for digit in "12")
    base = (f"{chain_id}:{place}", network, chain_id)
    pool = Pool(*base, protocol, "v2", place, tokens, (), "chain", 1_700_000_000)
    vault = Vault(*base, place, "V", protocol, "hold", *tokens, (), "chain", 1_700_000_000)
    return pool, vault


ITEMS = [item(7, "uniswap-v3", 1), item(7, "uniswap-v2", 2), item(8, "morpho", 3)]


@pytest.fixture
def serve(serve_app):
    async def start(*more):
        makers = [
            lambda context: MemoryRpc({7, 8}),
            lambda context: ListedPools([pool for pool, _ in ITEMS]),
            lambda context: ListedVaults(context, [vault for _, vault in ITEMS]),
            *more,
        ]
        return await serve_app({"fakes": FakePlugin(makers, networks=NETWORKS)})

    return start


@pytest.mark.parametrize("path", ["/v2/pools", "/v2/vaults"])
async def test_a_name_that_nobody_has_is_refused_with_the_one_that_was_meant(serve, refused, path):
    api = await serve()
    for query, meant in (
        ("protocol=uniswap-v33", "Did you mean 'uniswap-v3'?"),
        ("protocol=Uniswap_V3&network=seven", "Did you mean 'uniswap-v3'?"),
        ("protocol=morhpo&network=seven", "Did you mean 'morpho'?"),
        ("protocol=curve&network=8", "Protocols: morpho, uniswap-v2, uniswap-v3."),
        ("protocol=%3Cb%3E", "Protocols: morpho, uniswap-v2, uniswap-v3."),
    ):
        answer = await api.get(f"{path}?{query}")
        (field,) = refused(answer, 422, "validation_error", "unsupported_protocol")["fields"]
        assert field["path"] == "protocol"
        assert field["message"].endswith(meant)
        assert "<b>" not in answer.raw.decode()


@pytest.mark.parametrize("path", ["/v2/pools", "/v2/vaults"])
async def test_a_name_of_another_network_selects_nothing(serve, path):
    api = await serve()
    assert [row["id"] for row in (await api.get(f"{path}?protocol=morpho")).body["data"]] == [ITEMS[2][0].id]
    assert (await api.get(f"{path}?protocol=morpho&network=seven")).body["data"] == []


async def test_what_a_provider_declares_is_known_before_it_lists_anything(serve, refused):
    def swaps(context):
        provider = FixedRateSwap(context, networks={7})
        provider.protocols = ("solidly",)
        return provider

    api = await serve(swaps, lambda context: nothing_yet())
    for name in ("solidly", "new-pools"):
        assert (await api.get(f"/v2/pools?protocol={name}")).body["data"] == []
    refused(await api.get("/v2/pools?protocol=solidity"), 422, "validation_error", "unsupported_protocol")


def nothing_yet():
    provider = ListedPools([], provider_id="new-pools")
    provider.networks = frozenset({7})
    return provider


async def test_no_name_is_refused_while_a_provider_has_not_answered_or_failed(serve):
    async def fails(chain_id):
        raise UpstreamError("down")

    async def hangs(chain_id):
        await asyncio.Event().wait()

    for answer in (fails, hangs):
        provider = nothing_yet()
        provider.pools = answer
        api = await serve(lambda context, provider=provider: provider)
        for network in ("", "&network=8"):
            listed = await api.get(f"/v2/pools?protocol=curve{network}")
            assert (listed.status, listed.body["data"]) == (200, [])
