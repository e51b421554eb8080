"""Attack: a signed transaction that is sent, shown or logged, although its owner had it compared only.

Without a relay ``submit`` compares and forgets. A node is asked who made the signature. The transaction goes
to nobody, and nothing that is said has it.
"""

import logging

import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from signing_client import SIGNER, TYPES


@pytest.mark.parametrize("kind", TYPES)
async def test_a_payload_is_neither_sent_nor_said(signing_client, refused, monkeypatch, caplog, capfd, kind):
    here = await signing_client()
    providers = [entry.provider for entry in here.api.gateway.registry.providers]
    node = next(provider for provider in providers if provider.id == "http-rpc")
    asked, forward = [], node.forward

    async def record(network, method, params, **more):
        asked.append((method, str(params)))
        return await forward(network, method, params, **more)

    transaction, tx_id, _ = await here.action(approved=False)
    true = await here.sign(transaction, kind)
    changed = await here.sign({**transaction, "value": "0x7"}, kind)
    path, count = f"/v2/transactions/{tx_id}/submit", ("eth_getTransactionCount", SIGNER.address, "pending")
    before = await here.rpc(*count)
    monkeypatch.setattr(node, "forward", record)
    with caplog.at_level(logging.DEBUG):
        answers = [
            await here.api.post(path, {"signedPayload": each}) for each in (true, changed, true + "00")
        ]
        answers += [await here.api.get(place) for place in ("/metrics", "/v2/providers", "/readyz")]
    refused(answers[0], 503, "provider_unavailable", "relay_unsupported")
    refused(answers[1], 422, "validation_error", "conflict")
    refused(answers[2], 422, "validation_error", "invalid_format")
    assert "eth_call" in {method for method, _ in asked}, "ecrecover, on the chain"
    assert not [method for method, _ in asked if method.startswith("eth_send")]
    assert await here.rpc(*count) == before
    signature = true[-64:]
    said = [answer.raw.decode() for answer in answers] + [caplog.text, *capfd.readouterr()]
    assert not [text for text in said if signature in text]
    assert not [params for _, params in asked if true[2:] in params]
