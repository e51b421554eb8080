"""Configured lists in a running gateway: corrected by the chain, and refreshed."""

import asyncio
import json
import logging
import secrets

import pytest
import quoteway_tokenlist
from odd_tokens import erc20, text
from quoteway import Network, UpstreamError
from quoteway.evm.address import checksum
from served_catalog import USDC, Chains, eventually, row, write_list

# --- lists against the chain ------------------------------------------------------------------------------


async def test_the_chains_decimals_win_over_a_lists(start, place, tmp_path, caplog):
    address = place(erc20(text("ODD"), text("Odd"), 6, supply=1_500_000))
    catalog = await start(lists=[write_list(tmp_path / "private-name.json", row(address, 18))])
    assert (await catalog.profile("odd")).contracts[
        0
    ].decimals == 6  # reading the profile already corrects it
    token = await catalog.token(31337, address)
    assert (token.decimals, token.symbol) == (6, "ODD")
    assert caplog.text.count("18 decimals, its contract says 6") == 1
    assert (await catalog.profile("odd")).total_supply == "1.5"


async def test_a_correction_shows_in_the_list_and_in_its_revision(start, place, tmp_path, caplog):
    address = place(erc20(text("ODD"), text("Odd"), 6))
    catalog = await start(lists=[write_list(tmp_path / "l.json", row(address, 18))])
    before = catalog.revision()
    tokens = await asyncio.gather(*(catalog.token(31337, address) for _ in range(20)))
    assert {token.decimals for token in tokens} == {6}
    assert caplog.text.count("its contract says 6") == 1
    (profile,) = [profile for profile in await catalog.tokens(31337) if profile.id == "odd"]
    assert profile.contracts[0].decimals == 6
    assert catalog.revision() != before


async def test_a_listed_address_without_a_token_is_no_token(start, tmp_path, caplog):
    address = checksum("0x" + secrets.token_hex(20))
    catalog = await start(lists=[write_list(tmp_path / "l.json", row(address, 18))])
    for _ in range(3):
        assert await catalog.token(31337, address) is None
    assert caplog.text.count("which is not a token") == 1


async def test_a_known_token_needs_no_request(start, place):
    catalog = await start()
    unlisted = place(erc20(text("ODD"), text("Odd"), 6))
    for address in (USDC, unlisted):
        await catalog.token(31337, address)
    catalog.rpc.down = True
    for address in (USDC, unlisted):
        assert (await catalog.token(31337, address)).decimals == 6
    assert len(await catalog.tokens(None)) > 12


async def test_without_a_node_the_catalog_answers_and_decimals_fail(start):
    catalog = await start()
    catalog.rpc.down = True
    profile = await catalog.profile(f"31337:{USDC}")
    assert (profile.symbol, profile.total_supply) == ("USDC", None)
    with pytest.raises(UpstreamError):
        await catalog.token(31337, USDC)
    with pytest.raises(UpstreamError):
        await catalog.profile("31337:0x" + "12" * 20)


# --- refreshed lists -------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_file_that_is_written_later_is_read_and_refreshed(start, tmp_path):
    path = tmp_path / "later.json"
    catalog = await start(lists=[str(path)], refresh_s=1)

    async def listed(slug):
        return slug in {profile.id for profile in await catalog.tokens(31337)}

    assert not await listed("late")
    write_list(path, row(checksum("0x" + "11" * 20), 6, "LATE"))
    await eventually(lambda: listed("late"))
    path.write_text("{ half written")
    await asyncio.sleep(1.2)
    assert await listed("late")
    write_list(path, row(checksum("0x" + "11" * 20), 6, "LATER"))
    await eventually(lambda: listed("later"))


async def test_a_list_cannot_take_the_id_or_the_facts_of_a_built_in_token(make_gateway, tmp_path):
    usdc, other = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", checksum("0x" + "11" * 20)
    path = write_list(tmp_path / "l.json", row(other, 18, "USDC", 1), row(usdc, 18, "EVIL", 1))
    chains = Chains([Network("ethereum", 1, "Ethereum", token_lists=(path,))])
    chains.rpc.down = True
    gateway = await make_gateway({"chains": chains, "tokenlist": quoteway_tokenlist})
    (entry,) = [entry for entry in gateway.registry.providers if entry.provider.id == "tokenlist"]
    listed = {profile.id: profile.contracts[0] for profile in await entry.provider.tokens(1)}
    assert (listed["usdc"].address, listed["usdc"].decimals, listed["usdc"].symbol) == (usdc, 6, "USDC")
    assert listed["usdc-111111"].address == other
    assert "evil" not in listed


async def test_no_answer_names_the_list_it_comes_from(start, tmp_path):
    path = write_list(tmp_path / "private-name.json", row(checksum("0x" + "11" * 20), 6, "A"))
    catalog = await start(lists=[path])
    shown = repr(await catalog.tokens(None)) + repr(await catalog.profile("a"))
    assert "private-name" not in shown
    assert str(tmp_path) not in shown


async def test_a_private_url_is_refused_unless_allowed(start, caplog):
    caplog.set_level(logging.INFO)
    hits = []

    async def serve(reader, writer):
        hits.append(await reader.readuntil(b"\r\n\r\n"))
        body = json.dumps(
            {
                "name": "T",
                "timestamp": "2026-01-01T00:00:00Z",
                "version": {"major": 1, "minor": 0, "patch": 0},
                "tokens": [row("0x" + "11" * 20, 6, "WEB")],
            }
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/list?key=hidden"

        async def refused():
            return "private network" in caplog.text

        catalog = await start(lists=[url])
        await eventually(refused)
        assert hits == []
        allowed = await start(lists=[url], allow_private=True)

        async def listed():
            return "web" in {profile.id for profile in await allowed.tokens(31337)}

        await eventually(listed)
        assert "web" not in {profile.id for profile in await catalog.tokens(31337)}
    assert "hidden" not in caplog.text
