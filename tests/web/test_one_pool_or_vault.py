"""One pool or vault by its id: the row of its list, whoever has it, and ids that nobody knows."""

from dataclasses import replace

import pytest
from quoteway.errors import UpstreamError
from quoteway.models import Pool, Token, Vault
from quoteway.networks import Network
from quoteway.testing.fakes import FakePlugin, ListedPools, ListedVaults, MemoryRpc

NETWORK = Network("seven", 7, "Seven")
TOKENS = tuple(Token(7, "0x" + digit * 40, 18, f"T{digit}", "T") for digit in "12")
PLACE = "0x" + "3" * 40
V4 = "0x" + "ab" * 32
SPELLED = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
POOL = Pool(f"7:{PLACE}", "seven", 7, "fake", "v2", PLACE, TOKENS, ("add",), "chain", 1_700_000_000, 30, 5.0)
VAULT = Vault(
    f"7:{PLACE}", "seven", 7, PLACE, "V", "fake", "hold", *TOKENS, ("deposit",), "chain", 1_700_000_000
)
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def pools(*listed, unlisted=(), provider_id="listed-pools", **replaced):
    class Pools(ListedPools):
        async def pool(self, pool_id):
            return next((pool for pool in (*listed, *unlisted) if pool.id == pool_id), None)

    made = Pools(listed, provider_id=provider_id)
    made.networks = frozenset({7})
    for name, value in replaced.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def serve(serve_app, make_config):
    async def start(*providers):
        makers = [lambda context, each=each: each(context) if callable(each) else each for each in providers]
        plugin = FakePlugin([lambda context: MemoryRpc({7}, tokens=TOKENS), *makers], networks=[NETWORK])
        config = make_config()
        config = replace(config, quotes=replace(config.quotes, competition_timeout_s=2.0))
        return await serve_app({"fakes": plugin}, config=config)

    return start


@pytest.mark.parametrize("kind", ["Pool", "Vault"])
async def test_it_is_the_row_of_the_list_and_cached_as_the_list_is(serve, contract, kind):
    api = await serve(pools(POOL), lambda context: ListedVaults(context, [VAULT]))
    path = f"/v2/{kind.lower()}s"
    (row,) = (await api.get(path)).body["data"]
    answer = await api.get(f"{path}/7:{PLACE}")
    assert contract.check(f"get{kind}", answer) == row
    assert answer.headers["Cache-Control"] == "public, max-age=5"
    etag = answer.headers["ETag"]
    again = await api.get(f"{path}/7:{PLACE}", headers={"If-None-Match": etag})
    assert (again.status, again.raw, again.headers["ETag"]) == (304, b"", etag)
    head = await api.request("HEAD", f"{path}/7:{PLACE}")
    assert (head.status, head.headers["ETag"]) == (200, etag)


async def test_what_no_list_has_is_read_by_its_id(serve, contract):
    v4 = replace(POOL, id=f"7:{V4}", address=V4, kind="v4")
    spelled = replace(POOL, id=f"7:{SPELLED}", address=SPELLED)
    api = await serve(pools(POOL), pools(unlisted=[v4, spelled], provider_id="others"))
    for asked in (V4, V4.upper().replace("0X", "0x")):
        body = contract.check("getPool", await api.get(f"/v2/pools/7:{asked}"))
        assert (body["id"], body["kind"], body["pair"]) == (f"7:{V4}", "v4", "T1/T2")
    assert (await api.get(f"/v2/pools/7:{SPELLED.lower()}")).body["id"] == f"7:{SPELLED}"


async def test_the_first_provider_that_lists_it_is_asked_before_one_that_knows_it(serve):
    unlisted = replace(VAULT, name="read by id", listed=False)

    class Others(ListedVaults):
        async def vaults(self, chain_id):
            return []

    api = await serve(
        lambda context: Others(context, [unlisted], provider_id="others"),
        lambda context: ListedVaults(context, [VAULT]),
    )
    assert (await api.get(f"/v2/vaults/7:{PLACE}")).body["name"] == "V"


@pytest.mark.parametrize(
    "place",
    [f"7:{WALLET}", f"8:{PLACE}", "7:0x12", f"07:{PLACE}", PLACE, "7:", "x", "7%00", f"7:{PLACE}0", "deploy"],
)
@pytest.mark.parametrize("noun", ["pools", "vaults"])
async def test_unknown_and_malformed_ids_are_not_found(serve, refused, noun, place):
    api = await serve(pools(POOL), lambda context: ListedVaults(context, [VAULT]))
    refused(await api.get(f"/v2/{noun}/{place}"), 404, "not_found")


async def test_a_wrong_checksum_is_not_found_and_says_so(serve, refused):
    api = await serve(pools(POOL))
    wrong = "0xc" + SPELLED[3:]
    answer = await api.get(f"/v2/pools/7:{wrong}")
    refused(answer, 404, "not_found", "invalid_format")
    assert "{chainId}:{address}" in answer.body["error"]["message"]
    assert wrong not in answer.raw.decode(), "no bytes of the request are repeated"


@pytest.mark.parametrize("given", ["7:0x12", f"99:{PLACE}"])
async def test_members_that_are_wrong_are_named_before_an_unknown_id(serve, refused, given):
    api = await serve(pools(POOL), lambda context: ListedVaults(context, [VAULT]))
    body = {"action": "add", "asset": TOKENS[0].address, "amount": "1", "address": WALLET, "minBlock": 1}
    details = refused(
        await api.post(f"/v2/pools/{given}/quote", {**body, "amount": "1.5"}), 422, "validation_error"
    )
    assert [field["path"] for field in details["fields"]] == ["amount"]
    refused(await api.post(f"/v2/pools/{given}/quote", body), 404, "not_found")
    refused(await api.post(f"/v2/pools/{given}/action", body), 404, "not_found")
    refused(await api.get(f"/v2/pools/{given}/tvl"), 404, "not_found")
    refused(await api.get(f"/v2/pools/{given}/positions?wallet={WALLET}&minBlock=1"), 404, "not_found")
    body = {"action": "deposit", "asset": TOKENS[0].address, "amount": "1", "address": WALLET}
    refused(await api.post(f"/v2/vaults/{given}/quote", body), 404, "not_found")
    refused(await api.get(f"/v2/vaults/{given}/apy"), 404, "not_found")


async def test_a_capability_that_is_off_is_said_before_an_unknown_id(serve, refused):
    api = await serve(lambda context: ListedVaults(context, [VAULT]))
    for place in (f"7:{PLACE}", "7:0x12"):
        refused(await api.get(f"/v2/pools/{place}"), 503, "provider_unavailable", "capability_disabled")


async def test_a_provider_that_fails_is_no_unknown_id(serve, refused):
    async def fails(*args):
        raise UpstreamError("down")

    broken = pools(provider_id="broken", pools=fails, pool=fails)
    api = await serve(pools(POOL), broken)
    refused(await api.get(f"/v2/pools/7:{WALLET}"), 502, "upstream_error")
    known = await api.get(f"/v2/pools/7:{PLACE}")
    assert (known.status, known.body["id"]) == (200, POOL.id)
    assert known.headers["Cache-Control"] == "no-store", "the other list may have it too"


async def test_a_provider_cannot_show_another_pool_or_something_else(serve, refused):
    async def another(pool_id):
        return replace(POOL, id=f"7:{SPELLED}")

    async def words(pool_id):
        return "a pool"

    for lie in (another, words):
        api = await serve(pools(provider_id="liar", pool=lie))
        refused(await api.get(f"/v2/pools/7:{PLACE}"), 502, "upstream_error", "unsafe_answer")
