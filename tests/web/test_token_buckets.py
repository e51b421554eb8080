"""Rate limits: bursts, how tokens come back, what counts for more, and the headers that tell it."""

import contextlib
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway.config.model import AuthConfig, LimitsConfig
from quoteway.errors import RateLimited
from quoteway.secrets import Secret
from quoteway.web.http import buckets
from quoteway.web.http.buckets import Bound, Buckets
from quoteway.web.http.limits import LOCAL_FACTOR, Counted, Limiter

PATH = "/v2/rpc/31337"


@pytest.fixture
def clock(monkeypatch):
    """The clock of the buckets in a process, in seconds; ``wall`` is that of the machine."""
    made = SimpleNamespace(now=1_000.0, wall=1_800_000_000.0)
    given = SimpleNamespace(monotonic=lambda: made.now, time=lambda: made.wall)
    monkeypatch.setattr("quoteway.web.http.buckets.time", given)
    return made


# --- in a process -------------------------------------------------------------------------------------------


async def spent(limiter, count, group="quotes", caller="caller"):
    """How many of so many requests pass, one after the other."""
    passed = 0
    for _ in range(count):
        with contextlib.suppress(RateLimited):
            await limiter.take(group, caller)
            passed += 1
    return passed


async def test_a_burst_has_the_tokens_of_a_minute_and_they_come_back_one_by_one(clock):
    limiter = Limiter(LimitsConfig())
    assert await spent(limiter, 100) == 60
    clock.now += 0.9
    assert await spent(limiter, 1) == 0
    clock.now += 0.2
    assert await spent(limiter, 5) == 1, "one a second"
    clock.now += 10
    assert await spent(limiter, 50) == 10
    clock.now += 3_600
    assert await spent(limiter, 100) == 60, "a bucket holds no more than a minute's"
    for group, amount in (("catalog", 300), ("rpc", 600)):
        assert await spent(limiter, 1_000, group) == amount
    assert await spent(limiter, 100, caller="another") == 60


async def test_a_steady_caller_below_the_rate_is_never_refused(clock):
    limiter = Limiter(LimitsConfig())
    assert await spent(limiter, 60) == 60
    for _ in range(600):
        clock.now += 1.0
        await limiter.take("quotes", "caller")


async def test_the_headers_tell_what_is_left_and_when_the_next_request_passes(clock):
    limiter = Limiter(LimitsConfig(quotes="10/minute"))
    assert limiter.policy_of("quotes", "caller") == '"quotes";q=10;w=60'
    assert await limiter.take("quotes", "caller", 3) == '"quotes";r=7;t=18'
    clock.now += 6
    assert await limiter.take("quotes", "caller", 8) == '"quotes";r=0;t=60'
    with pytest.raises(RateLimited) as refusal:
        await limiter.take("quotes", "caller", 2)
    assert refusal.value.headers == {
        "Retry-After": "12",
        "RateLimit-Policy": '"quotes";q=10;w=60',
        "RateLimit": '"quotes";r=0;t=60',
    }
    clock.now += 12
    assert await limiter.take("quotes", "caller", 2) == '"quotes";r=0;t=60', "as Retry-After said"


async def test_what_does_not_fit_takes_nothing_and_what_never_fits_says_so(clock):
    limiter = Limiter(LimitsConfig(quotes="10/minute"))
    with pytest.raises(RateLimited, match="Ask for less at once") as refusal:
        await limiter.take("quotes", "caller", 11)
    assert not refusal.value.retryable
    assert await limiter.take("quotes", "caller", 4) == '"quotes";r=6;t=24'
    with pytest.raises(RateLimited, match="Try again in 6 s") as refusal:
        await limiter.take("quotes", "caller", 7)
    assert refusal.value.retryable
    granted, state, error = await limiter.take_granted("quotes", "caller", 7)
    assert (granted, state) == (6, '"quotes";r=0;t=60')
    assert error.headers["Retry-After"] == "6"


@pytest.mark.parametrize("left", [0, 1, 5, 19])
async def test_a_request_that_counts_in_two_steps_passes_after_what_retry_after_says(clock, left):
    """As it arrives it counts as one, and as more once its body is read."""
    limiter = Limiter(LimitsConfig(quotes="30/hour"))
    await limiter.take("quotes", "caller", 30 - left)

    async def arrive():
        counted = Counted(limiter, "quotes", "caller")
        await counted.take()
        await counted.take(19, taken=1)

    with pytest.raises(RateLimited) as refusal:
        await arrive()
    clock.now += int(refusal.value.headers["Retry-After"])
    if left == 0:  # it was refused as it arrived, when nobody knew yet how much it asks for
        with pytest.raises(RateLimited) as refusal:
            await arrive()
        clock.now += int(refusal.value.headers["Retry-After"])
    await arrive()
    another = Counted(limiter, "quotes", "another")
    await another.take()
    with pytest.raises(RateLimited) as refusal:
        await another.take(30, taken=1)
    assert not refusal.value.retryable


@given(
    amount=st.integers(1, 5_000),
    window_s=st.sampled_from([1, 60, 3_600]),
    turns=st.lists(st.tuples(st.integers(0, 4_000_000), st.integers(1, 6_000), st.booleans()), max_size=60),
)
def test_it_is_the_token_bucket_of_the_textbook(amount, window_s, turns):
    """Against exact fractions: tokens that grow with the time, up to the amount. Times in milliseconds."""
    bound, made, now_ms, tokens = Bound(amount, window_s), Buckets(), 1, Fraction(amount)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "time", SimpleNamespace(monotonic=lambda: now_ms / 1_000))
        for wait_ms, wanted, partly in turns:
            now_ms += wait_ms
            tokens = min(Fraction(amount), tokens + Fraction(wait_ms * amount, window_s * 1_000))
            found = made.spend("key", bound, wanted, least=1 if partly else None)
            most = int(tokens + Fraction(1, 100))
            least = int(tokens - Fraction(1, 100))
            expected = {
                have if partly and wanted > have else wanted if wanted <= have else 0
                for have in (max(least, 0), most)
            }
            assert found.granted in expected
            tokens = max(tokens - found.granted, Fraction(0))


async def test_a_clock_that_is_set_back_keeps_nobody_out(clock):
    limiter = Limiter(LimitsConfig(catalog="1/second"))
    await limiter.take("catalog", "caller")
    clock.wall -= 3_600
    with pytest.raises(RateLimited) as refusal:
        await limiter.take("catalog", "caller")
    assert refusal.value.headers["Retry-After"] == "1"
    clock.now += 1.05
    await limiter.take("catalog", "caller")


def test_buckets_that_are_full_again_are_forgotten(clock):
    made = Buckets()
    for number in range(1_000):
        made.spend(f"caller {number}", Bound(60, 60), 1)
    made.spend("busy", Bound(60, 3_600), 60)
    clock.now += 61
    made.spend("next", Bound(60, 60), 1)
    assert made.full_at.keys() == {"busy", "next"}


@pytest.mark.parametrize(
    ("local", "caller", "factor"),
    [
        (True, "127.0.0.1", LOCAL_FACTOR),
        (True, "127.8.0.1", LOCAL_FACTOR),
        (True, "::/64", LOCAL_FACTOR),
        (True, "192.0.2.1", 1),
        (True, "1270.example", 1),
        (True, "2001:db8::/64", 1),
        (False, "127.0.0.1", 1),
        (False, "key:0", 1),
    ],
)
async def test_callers_on_this_machine_have_ten_times_the_limits_of_the_embedded_default(
    clock, local, caller, factor
):
    limiter = Limiter(LimitsConfig(), local=local)
    assert limiter.policy_of("quotes", caller) == f'"quotes";q={60 * factor};w=60'
    assert await spent(limiter, 1_000, caller=caller) == 60 * factor


# --- over HTTP ----------------------------------------------------------------------------------------------


async def test_the_embedded_default_serves_this_machine_ten_times(serve_app, make_config):
    usual = replace(make_config(), limits=LimitsConfig())
    deployment = await serve_app(config=usual)
    assert (await deployment.get("/v2/providers")).headers["RateLimit-Policy"] == '"catalog";q=300;w=60'
    api = await serve_app(config=replace(usual, embedded=True))
    answer = await api.get("/v2/providers")
    assert answer.headers["RateLimit-Policy"] == '"catalog";q=3000;w=60'
    assert answer.headers["RateLimit"].startswith('"catalog";r=2999;')
    answer = await api.post("/v2/swaps/quote", {})
    assert answer.headers["RateLimit-Policy"] == '"quotes";q=600;w=60'


async def test_every_answer_has_the_headers_and_pages_may_read_them(serve_app, make_config, fake_plugin):
    ours = "https://app.example.org"
    config = replace(
        make_config(cors_origins=(ours,)), limits=LimitsConfig(quotes="2/hour", catalog="6/hour")
    )
    api = await serve_app({"fakes": fake_plugin}, config=config)
    origin = {"Origin": ours}
    answers = [await api.get(path, headers=origin) for path in ("/v2/pools", "/v2/pools", "/v2/nothing")]
    tag = answers[0].headers["ETag"]
    answers.append(await api.get("/v2/pools", headers={**origin, "If-None-Match": tag}))
    answers.append(await api.post("/v2/pools", {}, headers=origin))
    answers.append(await api.get("/v2/pools/no-id", headers=origin))
    answers.append(await api.get("/v2/pools", headers=origin))
    answers += [await api.post("/v2/swaps/quote", {}, headers=origin) for _ in range(3)]
    assert [each.status for each in answers] == [200, 200, 404, 304, 405, 404, 429, 422, 422, 429]
    for answer in answers:
        group = answer.headers["RateLimit-Policy"].split('"')[1]
        assert answer.headers["RateLimit"].startswith(f'"{group}";r=')
        assert answer.headers["Access-Control-Allow-Origin"] == ours
        for name in ("RateLimit", "RateLimit-Policy", "Retry-After"):
            assert name in answer.headers["Access-Control-Expose-Headers"]
        assert ("Retry-After" in answer.headers) is (answer.status == 429)


async def test_refusals_of_wrong_keys_tell_their_own_limit(serve_app, make_config, refused):
    keys = AuthConfig(keys=(Secret("canary-key-0123456789abcdef"),))
    config = replace(make_config(), auth=keys, limits=LimitsConfig(wrong_keys="2/hour"))
    api = await serve_app(config=config)
    for left in (1, 0):
        answer = await api.get("/v2/providers")
        refused(answer, 401, "unauthorized")
        assert answer.headers["RateLimit"].startswith(f'"wrong_keys";r={left};')
    answer = await api.get("/v2/providers")
    refused(answer, 429, "rate_limit_exceeded")
    assert answer.headers["RateLimit-Policy"] == '"wrong_keys";q=2;w=3600'


def rpc(method, *params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}


LOGS = rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "0x0"})


async def test_costly_methods_count_as_five(serve_app, make_config, fake_plugin, refused):
    config = replace(make_config(), limits=LimitsConfig(rpc="30/hour"))
    api = await serve_app({"fakes": fake_plugin}, config=config)

    async def left(body):
        answer = await api.post(PATH, body)
        return answer.status, int(answer.headers["RateLimit"].split("r=")[1].split(";")[0])

    assert await left(rpc("eth_chainId")) == (200, 29)
    assert (await left(LOGS))[1] == 24
    assert (await left(rpc("eth_sendRawTransaction", "0x")))[1] == 23
    assert (await left([LOGS, rpc("eth_chainId"), LOGS]))[1] == 12
    answer = await api.post(PATH, [LOGS, rpc("eth_chainId"), rpc("eth_chainId"), LOGS, rpc("eth_chainId")])
    codes = [each.get("error", {}).get("code") for each in answer.body]
    assert (-32005 in codes[:4], codes[4]) == (False, -32005)
    assert int(answer.headers["Retry-After"]) > 0
    refused(await api.post(PATH, LOGS), 429, "rate_limit_exceeded")


async def test_costly_methods_count_as_five_over_a_websocket(serve_app, make_config, fake_plugin):
    config = replace(make_config(), limits=LimitsConfig(rpc="13/hour"))
    api = await serve_app({"fakes": fake_plugin}, config=config)
    async with api.session.ws_connect(api.url + PATH) as socket:  # the first request
        codes = []
        for body in (LOGS, LOGS, LOGS, rpc("eth_chainId"), [rpc("eth_chainId"), LOGS]):
            await socket.send_json(body)
            answer = await socket.receive_json(timeout=20)
            answers = answer if isinstance(answer, list) else [answer]
            codes += [each.get("error", {}).get("code") for each in answers]
    assert [code == -32005 for code in codes] == [False, False, True, False, True, True]
