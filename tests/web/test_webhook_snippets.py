"""What docs/how-to/receive-webhooks.md tells receivers to run, run on what the gateway sends."""

import asyncio
import base64
import json
import re
import shutil
import time
from pathlib import Path

import pytest
from quoteway.engine.webhooks.signatures import headers, shown_secret

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "receive-webhooks.md").read_text()
KEY = bytes(range(32))
BODY = b'{"type":"transfer.filled","data":{"name":"\xc3\xa9"}}'


def snippet(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def sent(at=None, key=KEY, **changes):
    """The secret, headers and body of an event."""
    made = headers(key, "msg_1", int(time.time() if at is None else at), BODY)
    return {
        "secret": shown_secret(KEY),
        "headers": {name.lower(): value for name, value in made.items()} | changes.pop("headers", {}),
        "body": BODY,
    } | changes


def cases():
    """Deliveries by name, and whether they are authentic."""
    good = sent()
    return {
        "as sent": (good, True),
        "with an older signature before it": (
            sent(headers={"webhook-signature": "v1,AAAA v2,x " + good["headers"]["webhook-signature"]}),
            True,
        ),
        "another body": (sent(body=BODY + b" "), False),
        "another key": (sent(key=bytes(32)), False),
        "another id": (sent(headers={"webhook-id": "msg_2"}), False),
        "another time": (sent(headers={"webhook-timestamp": str(int(time.time()) + 1)}), False),
        "replayed after ten minutes": (sent(time.time() - 600), False),
        "of the future": (sent(time.time() + 600), False),
        "no time": (sent(headers={"webhook-timestamp": "x"}), False),
        "no signature": (sent(headers={"webhook-signature": ""}), False),
        "another version": (sent(headers={"webhook-signature": "v1a,AAAA"}), False),
    }


@pytest.mark.parametrize("name", list(cases()))
def test_the_python_of_the_page_verifies(name):
    delivery, authentic = cases()[name]
    place = {}
    exec(compile(snippet("python"), "receive-webhooks.md", "exec"), place)
    if authentic:
        assert place["verify"](**delivery) == "msg_1"
    else:
        with pytest.raises(ValueError, match="the webhook"):
            place["verify"](**delivery)


@pytest.mark.parametrize("name", list(cases()))
def test_the_library_of_standard_webhooks_verifies(name):
    from standardwebhooks import Webhook, WebhookVerificationError

    delivery, authentic = cases()[name]
    hook = Webhook(delivery["secret"])
    if authentic:
        assert hook.verify(delivery["body"].decode(), delivery["headers"]) == json.loads(BODY)
    else:
        with pytest.raises(WebhookVerificationError):
            hook.verify(delivery["body"].decode(), delivery["headers"])


async def test_the_javascript_of_the_page_verifies(tmp_path):
    node = shutil.which("node")
    assert node is not None, "install Node.js"
    (tmp_path / "verify.mjs").write_text(snippet("js"))
    (tmp_path / "run.mjs").write_text(
        'import { readFileSync } from "node:fs";\nimport { verify } from "./verify.mjs";\n'
        'const said = {};\nconst cases = JSON.parse(readFileSync("cases.json"));\n'
        "for (const [name, each] of Object.entries(cases)) {\n"
        '  try { said[name] = verify(each.secret, each.headers, Buffer.from(each.body, "base64")); }\n'
        "  catch (error) { said[name] = error.message; }\n}\nconsole.log(JSON.stringify(said));\n"
    )
    every = cases()
    written = {
        name: delivery | {"body": base64.b64encode(delivery["body"]).decode()}
        for name, (delivery, _) in every.items()
    }
    (tmp_path / "cases.json").write_text(json.dumps(written))
    process = await asyncio.create_subprocess_exec(
        node, "run.mjs", cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    said = json.loads(out)
    for name, (_, authentic) in every.items():
        assert (said[name] == "msg_1") is authentic, (name, said[name])
        assert authentic or said[name].startswith("the webhook"), said[name]
