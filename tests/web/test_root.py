"""``GET /``: a caller who knows the host alone finds everything else."""

import dataclasses

from quoteway.config.model import AuthConfig
from quoteway.secrets import Secret


async def test_every_link_leads_somewhere(fakes):
    answer = await fakes.get("/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.body["name"] == "quoteway"
    assert {"/v2/openapi.json", "/v2/providers", "/healthz"} <= set(answer.body["links"].values())
    for path in answer.body["links"].values():
        assert (await fakes.get(path)).status == 200, path
    assert (await fakes.request("HEAD", "/")).status == 200


async def test_it_needs_no_key_and_tells_nothing_of_the_deployment(
    serve_app, make_config, fake_plugin, refused
):
    keys = (Secret("9f2c61d8a07be4531c8d9ab2f6e07143"),)
    config = dataclasses.replace(make_config(), auth=AuthConfig(keys=keys))
    api = await serve_app({"fakes": fake_plugin}, config=config)
    text = (await api.get("/")).raw.decode()
    assert "devnet" not in text
    assert "fake" not in text
    refused(await api.post("/"), 405, "invalid_request", "method_not_allowed")
