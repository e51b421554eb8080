"""Followed quotes: better, worse, below their minimum, gone and expired, at prices that a test sets."""

import asyncio

from drifting_market import NOW, UNIT
from quoteway.errors import UpstreamError
from stream_room import PAIR

FAST = {"quote_interval_s": 0.05}
BETTER, WORSE, TOO_LOW = (UNIT * each // 10_000 for each in (10_020, 9_980, 9_900))


async def test_a_quote_that_improves_worsens_and_falls_below_its_minimum(open_room, place):
    room = await open_room(FAST)
    quote = await room.quoted()
    client = await room.follow(quotes=[quote["quoteId"]])
    seen = [(await client.next()).data]
    for price in (BETTER, WORSE, TOO_LOW, UNIT):
        place.price = price
        place.rpc.number += 1
        told = await client.next()
        assert told.name == "quote"
        seen.append(told.data)
    assert [each["change"] for each in seen] == [
        *("unchanged", "improved", "worsened", "below_minimum", "unchanged")
    ]
    assert [each["quote"]["toAmount"] for each in seen] == ["10000", "10020", "9980", "9900", "10000"]
    for each in seen:
        assert each["quoteId"] == quote["quoteId"]
        assert set(each["quote"]) == set(quote), "the members of a quote"
        assert each["quote"]["request"] == quote["request"]
        assert "error" not in each
    fresh = seen[1]["quote"]
    shown = await room.api.get(f"/v2/swaps/quote/{fresh['quoteId']}")
    assert (shown.status, shown.body["toAmount"]) == (200, "10020"), "a quote as any other"


async def test_an_exact_output_is_better_when_it_takes_less(open_room, place):
    room = await open_room(FAST)
    quote = await room.quoted(side="exactOut")
    client = await room.follow(quotes=[quote["quoteId"]])
    changes = [(await client.next()).data["change"]]
    for price in (BETTER, WORSE, TOO_LOW):
        place.price = price
        place.rpc.number += 1
        changes.append((await client.next()).data["change"])
    assert changes == ["unchanged", "improved", "worsened", "below_minimum"]


async def test_equal_quotes_are_told_once_and_a_lost_route_with_its_error(open_room, place):
    room = await open_room(FAST)
    quote = await room.quoted()
    client = await room.follow(quotes=[quote["quoteId"]])
    await client.next()
    for _ in range(3):  # the same price at new heads
        asked, place.rpc.number = len(market(place).asked), place.rpc.number + 1
        await room.until(lambda asked=asked: has_asked(place, asked))
    place.price = 0
    place.rpc.number += 1
    told = (await client.next()).data
    assert (told["change"], told["error"]["code"]) == ("unavailable", "upstream_error")
    assert told["error"]["details"]["reason"] == "no_route"
    assert told["error"]["requestId"]
    assert "quote" not in told
    place.price = UNIT
    place.rpc.number += 1
    assert (await client.next()).data["change"] == "unchanged"


def market(place):
    return place.markets["market"]


async def has_asked(place, before):
    return len(market(place).asked) > before


async def test_a_request_is_quoted_once_a_head_for_all_that_follow_a_quote_of_it(open_room, place):
    room = await open_room({**FAST, "quotes_per_caller": 100, "streams_per_caller": 100})
    quotes = [await room.quoted() for _ in range(3)]
    place.now += 1
    quotes.append(await room.quoted())
    clients = [await room.follow(quotes=[each["quoteId"]]) for each in quotes * 5]
    for client in clients:
        await client.next()
    made = room.streams.sources.requotes.count
    assert made == 1
    for price in (BETTER, WORSE):
        place.price = price
        place.rpc.number += 1
        for client in clients:
            await client.next()
    assert room.streams.sources.requotes.count == made + 2


async def test_a_request_is_quoted_once_an_interval_however_fast_the_blocks(open_room, place):
    room = await open_room({"quote_interval_s": 0.5})
    quote = await room.quoted()
    client = await room.follow(quotes=[quote["quoteId"]], heads=["seven"])
    await client.next("quote")
    began, made = asyncio.get_running_loop().time(), room.streams.sources.requotes.count
    for _ in range(10):
        place.rpc.number += 1
        place.price += 10**5
        await client.next("head")
    most = (asyncio.get_running_loop().time() - began) / 0.5 + 1
    assert room.streams.sources.requotes.count - made <= most


async def test_an_expired_quote_has_one_last_state_and_the_stream_goes_on(open_room, place):
    room = await open_room(FAST)
    quote = await room.quoted()
    client = await room.follow(quotes=[quote["quoteId"]], heads=["seven"])
    await client.next("quote")
    place.now += 180
    place.rpc.number += 1
    told = (await client.next("quote")).data
    assert (told["change"], told["quote"]["status"]) == ("expired", "expired")
    assert told["quote"]["quoteId"] == told["quoteId"] == quote["quoteId"]
    read_back = await room.api.get(f"/v2/swaps/quote/{quote['quoteId']}")
    assert told["quote"] == read_back.body
    place.rpc.number += 1
    assert (await client.next("head")).data["block"]["number"] == 3
    made = room.streams.sources.requotes.count
    place.rpc.number += 1
    await client.next("head")
    assert room.streams.sources.requotes.count == made, "nothing is quoted for it any more"


async def test_a_quote_with_refresh_terms_is_followed_within_them_as_long_as_they_last(open_room, place):
    room = await open_room(FAST)
    quote = await room.quoted(refreshableUntil=NOW + 3_600)
    place.now += 400  # it has expired
    client = await room.follow(quotes=[quote["quoteId"]])
    assert (await client.next()).data["change"] == "unchanged"
    place.price = WORSE
    place.rpc.number += 1
    told = (await client.next()).data
    assert (told["change"], told["quote"]["toAmountMin"]) == ("worsened", quote["toAmountMin"])
    assert told["quote"]["refreshTerms"] == quote["refreshTerms"]
    place.price = TOO_LOW
    place.rpc.number += 1
    told = (await client.next()).data
    assert (told["change"], told["error"]["details"]["reason"]) == ("below_minimum", "price_moved")
    assert told["error"]["details"]["bestNow"] == "9900"
    place.now = NOW + 3_600
    place.rpc.number += 1
    expired, end = await client.rest()
    assert (expired.data["change"], end.data["reason"]) == ("expired", "complete")


async def test_the_numbers_of_followed_quotes_are_limited(open_room, place, refused):
    room = await open_room({"quotes_per_caller": 1, "quotes": 1})
    first = (await room.quoted())["quoteId"]
    place.now += 1
    second = (await room.quoted())["quoteId"]
    answer = await room.refused(quotes=f"{first},{second}")
    refused(answer, 429, "rate_limit_exceeded")
    assert "More than 1 followed quotes" in answer.body["error"]["message"]
    client = await room.follow(quotes=[first])
    await client.next()
    refused(await room.refused(quotes=first), 429, "rate_limit_exceeded")
    client.close()

    async def is_full_of_one():
        answer = await room.refused(quotes=second)
        return answer.status == 503

    await room.until(is_full_of_one)
    assert (await room.follow(quotes=[first])).status == 200, "it goes on for the one who follows it"


async def test_a_quote_of_another_key_is_refused(open_room, place, refused, serve_app):
    room = await open_room()
    other = await serve_app(type(place)().plugins(), clock=place.clock)
    strange = (await other.post("/v2/swaps/quote", PAIR)).body["quoteId"]
    refused(await room.refused(quotes=strange), 404, "not_found", "quote_invalid")
    own = (await room.quoted())["quoteId"]
    for wrong in (own[:-1], own + "A", own.upper()):
        refused(await room.refused(quotes=wrong), 404, "not_found", "quote_invalid")


async def test_a_node_that_fails_is_told_and_a_chain_that_goes_on_too(open_room, place):
    room = await open_room(FAST)
    quote = await room.quoted()
    heads = await room.follow(heads=["seven"])
    quotes = await room.follow(quotes=[quote["quoteId"]])
    await heads.next()
    await quotes.next()

    def dead(params):
        raise UpstreamError("No node of http://user:secret@node.example answers.")

    place.rpc.answers["eth_getBlockByNumber"] = dead
    failure = await heads.next()
    assert (failure.name, failure.data["topic"], failure.data["item"]) == ("failure", "heads", "seven")
    assert failure.data["error"]["code"] == "upstream_error"
    assert "node.example" not in str(failure.data)
    told = await quotes.next()
    assert (told.data["change"], told.data["error"]["code"]) == ("unavailable", "upstream_error")
    del place.rpc.answers["eth_getBlockByNumber"]
    place.rpc.number += 1
    assert (await heads.next()).data["block"]["number"] == 2
    assert (await quotes.next()).data["change"] == "unchanged"


async def test_the_same_head_again_after_a_failure_ends_it(open_room, place):
    room = await open_room()
    heads = await room.follow(heads=["seven"])
    first = await heads.next()
    place.rpc.answers["eth_getBlockByNumber"] = None
    assert (await heads.next()).name == "failure"
    del place.rpc.answers["eth_getBlockByNumber"]
    again = await heads.next()
    assert (again.name, again.data) == ("head", first.data)
    assert again.id != first.id


async def test_a_bug_of_the_engine_is_told_as_one_of_ours_and_ends_nothing(open_room, place, monkeypatch):
    room = await open_room(FAST)
    quote = await room.quoted()
    client = await room.follow(quotes=[quote["quoteId"]])
    await client.next()

    async def bug(sealed):
        raise KeyError("secret")

    refreshing = type(room.api.gateway.refreshing)
    monkeypatch.setattr(refreshing, "compare", lambda self, sealed: bug(sealed))
    place.rpc.number += 1
    told = (await client.next()).data
    assert (told["change"], told["error"]["code"]) == ("unavailable", "provider_unavailable")
    assert "secret" not in str(told)
    monkeypatch.undo()
    place.rpc.number += 1
    assert (await client.next()).data["change"] == "unchanged"
