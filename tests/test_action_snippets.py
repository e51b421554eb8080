"""What docs/how-to/verify-an-action.md shows for Node, run on actions that the gateway signs."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("cryptography", reason="actions are signed with it")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from quoteway.engine.action_signatures import ActionSigner

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "verify-an-action.md").read_text()
NOW = 1_800_000_000
ANSWER = {"actionId": "0xab", "transactions": [{"to": "0x1", "value": "0x0"}], "name": "é", "jws": None}
RUN = """
import { readFileSync } from "node:fs";
import { signedAction } from "./verify.mjs";
const said = {};
for (const [name, each] of Object.entries(JSON.parse(readFileSync("cases.json")))) {
  try { said[name] = signedAction(each.jws, each.keySet, each.issuer, each.now); }
  catch (error) { said[name] = error.message; }
}
console.log(JSON.stringify(said));
"""


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def cases():
    """Arguments of the function by name, and how what it throws begins; None: it returns the action."""
    one, two = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    signer = ActionSigner([("k1", one), ("k2", two)], issuer="quoteway")
    jws = signer.sign(SimpleNamespace(created_at=NOW, expires_at=NOW + 60), ANSWER)
    header, payload, signature = jws.split(".")
    others = ActionSigner([("k1", two)], issuer="quoteway").key_set
    symmetric = {"keys": [{"kty": "oct", "kid": "k1", "k": "AAAA"}]}
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    given = {"jws": jws, "keySet": signer.key_set, "issuer": "quoteway", "now": NOW}
    made = {
        "as signed": ({}, None),
        "expired": ({"now": NOW + 60}, "it has expired"),
        "another issuer": ({"issuer": "another"}, "it is of another issuer"),
        "the key of somebody else": ({"keySet": others}, "the key did not sign"),
        "no key of that name": ({"keySet": {"keys": signer.key_set["keys"][1:]}}, "no key of the set"),
        "two keys of that name": ({"keySet": {"keys": signer.key_set["keys"][:1] * 2}}, "no key of the set"),
        "a shared secret as the key": ({"keySet": symmetric}, "no key of the set"),
        "another signature": ({"jws": f"{header}.{payload}.{flipped}"}, "the key did not sign"),
        "no signature": ({"jws": f"{header}.{payload}."}, "the key did not sign"),
        "another payload": ({"jws": f"{header}.{part({'aud': 'action'})}.{signature}"}, "the key did not"),
        "one more part": ({"jws": f"{jws}.{signature}"}, "it is no signed action"),
    }
    for alg in ("none", "HS256", "ES256"):
        weak = part({"alg": alg, "typ": "qw-action+jwt", "kid": "k1"})
        made[f"algorithm {alg}"] = ({"jws": f"{weak}.{payload}."}, "it is no signed action")
    typed = part({"alg": "EdDSA", "typ": "JWT", "kid": "k1"})
    made["another type"] = ({"jws": f"{typed}.{payload}.{signature}"}, "it is no signed action")
    return {name: (given | changes, error) for name, (changes, error) in made.items()}


def test_node_verifies_what_the_gateway_signs_and_nothing_else(tmp_path):
    node = shutil.which("node")
    assert node is not None, "install Node.js"
    (code,) = re.findall(r"^```js\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    every = cases()
    (tmp_path / "verify.mjs").write_text(code)
    (tmp_path / "run.mjs").write_text(RUN)
    (tmp_path / "cases.json").write_text(json.dumps({name: given for name, (given, _) in every.items()}))
    ran = subprocess.run(
        [node, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    for name, (_, error) in every.items():
        if error is None:
            assert said[name] == {member: value for member, value in ANSWER.items() if member != "jws"}
        else:
            assert isinstance(said[name], str), name
            assert said[name].startswith(error), (name, said[name])
