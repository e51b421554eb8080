"""Attack: a caller who tries one API key after the other, or has all others behind its proxy locked out.

After ten wrong keys a minute from one address the next are 429. A right key is served all the same.
"""

from dataclasses import replace

from quoteway.config.model import AuthConfig
from quoteway.secrets import Secret

CANARY = "canary-key-0123456789abcdef"


async def test_wrong_keys_are_limited_by_address_and_right_ones_are_served(serve_app, make_config, refused):
    config = make_config(trusted_proxies=("127.0.0.0/8",))
    config = replace(config, auth=AuthConfig(keys=(Secret(CANARY),)))
    api = await serve_app(config=config)

    async def ask(key, address="192.0.2.1"):
        headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": address}
        return await api.get("/v2/providers", headers=headers)

    answers = [await ask(f"wrong-{number}") for number in range(12)]
    assert [answer.status for answer in answers] == [401] * 10 + [429] * 2
    for key in ("wrong", CANARY[:-1], CANARY + "x", ""):
        answer = await ask(key)
        details = refused(answer, 429, "rate_limit_exceeded")
        assert details["retryable"] is True
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert answer.headers["RateLimit-Policy"] == '"wrong_keys";q=10;w=60'
        assert "without a valid API key" in answer.body["error"]["message"]
    right = await ask(CANARY)
    assert right.status == 200, "others behind the same address keep their access"
    assert right.headers["RateLimit"].startswith('"catalog";')
    assert (await ask("wrong", "192.0.2.2")).status == 401, "another address has its own window"
