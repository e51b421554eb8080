"""What a gateway of the recorded format sealed, today's code reads: see ``token_format``.

Where one of these fails, gateways of two versions would not understand each other while a deployment is
upgraded. Either keep the format, or change the ``typ`` of the token, so that the other version refuses it
(``quote_invalid``) and never misreads it; record anew, and say so in docs/how-to/upgrade.md.
"""

import base64
import json
import zlib
from dataclasses import fields

import jwt
import pytest
import token_format
from quoteway.engine.quote_rows import quote_to_row
from quoteway.engine.webhooks.registrations import Progress, Registrations
from quoteway.errors import NotFound
from quoteway.host.plugin_rows import MemoryRows
from quoteway.models import Capability
from quoteway.web.resources.catalog import read_cursor

RECORDED = json.loads(token_format.FILE.read_text())
SAME = ("token", "block", "created_at", "expires_at")
QUOTES = RECORDED["quotes"]


def holds(found, recorded):
    """Whether a value has all that is recorded. Members that are new since then may be there too."""
    if isinstance(recorded, dict):
        return isinstance(found, dict) and all(
            name in found and holds(found[name], each) for name, each in recorded.items()
        )
    if isinstance(recorded, list):
        return isinstance(found, list) and len(found) == len(recorded) and all(map(holds, found, recorded))
    return type(found) is type(recorded) and found == recorded


def opened(name):
    capability = Capability(QUOTES[name]["says"]["capability"])
    return token_format.sealer().open(capability, QUOTES[name]["token"])


@pytest.mark.parametrize("name", QUOTES)
def test_a_recorded_quote_says_the_same_today(name):
    assert holds(token_format.named(opened(name)), QUOTES[name]["says"])


@pytest.mark.parametrize("name", QUOTES)
def test_what_is_sealed_today_has_the_recorded_form(name):
    token = QUOTES[name]["token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    packed = claims.get("z", "")
    row = claims.get("q") or json.loads(
        zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    )
    assert json.loads(json.dumps(quote_to_row(opened(name)))) == row
    header = jwt.get_unverified_header(token)
    assert jwt.get_unverified_header(token_format.sealer().seal(opened(name)).token) == header


@pytest.mark.parametrize("kind", token_format.REQUESTS)
def test_members_of_requests_keep_their_places(kind):
    order = [field.name for field in fields(kind)]
    recorded = RECORDED["order"][kind.__name__]
    assert order[: len(recorded)] == recorded, "tokens have no names: new members go to the end"


def test_each_kind_of_request_and_each_member_of_a_quote_is_recorded():
    said = [each["says"] for each in QUOTES.values()]
    assert {each["request"]["class"] for each in said} == {kind.__name__ for kind in token_format.REQUESTS}
    for member in fields(type(opened("swap"))):
        values = [json.dumps(each[member.name]) for each in said if member.name in each]
        assert len(set(values)) > 1 or member.name in SAME, member.name


def test_recorded_transaction_ids_filters_and_cursors_say_the_same_today():
    commitment = token_format.sealer().open_transaction(RECORDED["transaction"]["token"])
    assert holds(token_format.named(commitment), RECORDED["transaction"]["says"])
    spec = token_format.filter_ids().open(RECORDED["filter"]["id"], 1)
    assert holds(token_format.named(spec), RECORDED["filter"]["says"])
    assert [*read_cursor(RECORDED["cursor"]["cursor"])] == RECORDED["cursor"]["says"]


async def test_recorded_webhooks_are_read_with_members_that_are_new_and_without():
    registered, progress = token_format.webhook()
    said = RECORDED["webhook"]
    for more in ({}, {"of_a_later_version": 1}):
        value = said["progress"] | more
        value = value | {"pending": [each | more for each in value["pending"]]}
        assert Progress.loaded(json.dumps(value).encode()) == progress
        rows = MemoryRows()
        await rows.set(
            "core:webhooks", "wh_1_2", json.dumps(said["registration"] | more).encode(), None, False
        )
        assert await Registrations(rows, total=1, per_key=1).find("wh_1_2") == registered


@pytest.mark.parametrize("change", [lambda row: row[:9], lambda row: [*row, 1], lambda row: row[::-1]])
def test_a_row_of_another_form_is_refused_and_not_misread(change):
    """The first is that of gateways before plans had versions."""
    ring = token_format.KeyRing([(token_format.KEY_ID, token_format.KEY)])
    claims = {"iss": "quoteway", "aud": "swap", "iat": token_format.NOW, "exp": token_format.NOW + 180}
    row = json.loads(json.dumps(quote_to_row(opened("exact output"))))
    token = ring.sign(claims | {"q": change(row)}, "qw-quote+jwt")
    with pytest.raises(NotFound):
        token_format.sealer().open(Capability.SWAP, token)
