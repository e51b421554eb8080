"""The gate of the API: each change that breaks a client of the released document is found, no addition is."""

import copy
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from api_changes import ADDITIONS, BREAKS, CREATE, LIST, answered, document, sent, set_in

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "docs" / "compatibility.py"


@pytest.fixture(scope="module")
def gate():
    spec = importlib.util.spec_from_file_location("compatibility", SCRIPT)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compatibility"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["compatibility"]


@pytest.mark.parametrize("case", BREAKS)
def test_a_change_that_breaks_a_client_is_found(gate, case):
    change, expected = BREAKS[case]
    changed = document()
    change(changed)
    assert expected in gate.breaks(document(), changed)


@pytest.mark.parametrize("case", ADDITIONS)
def test_an_addition_is_none(gate, case):
    changed = document()
    ADDITIONS[case](changed)
    assert gate.breaks(document(), changed) == []


def test_a_shared_schema_is_named_where_it_is_used_first(gate):
    changed = document()
    set_in(answered(changed)["properties"]["paid"], type="integer")
    assert gate.breaks(document(), changed) == [f"{LIST}: 200[].paid: integer is new"]


def test_what_cannot_be_compared_is_said(gate):
    changed = document()
    set_in(answered(changed)["properties"]["paid"], multipleOf=2)
    with pytest.raises(ValueError, match="multipleOf in a schema cannot be compared"):
        gate.breaks(document(), changed)


# --- the documents of this repository -----------------------------------------------------------------------


def test_the_document_keeps_what_the_released_one_promises(gate):
    released, current = json.loads(gate.RELEASED.read_text()), json.loads(gate.CURRENT.read_text())
    assert len(released["paths"]) > 40
    assert gate.breaks(released, current) == []
    assert released == gate.bare(released)


def components_of(document, place, found=frozenset()):
    """The (kind, name) of all components that a place of the document refers to, directly or not."""
    for kind, name in set(re.findall(r'"#/components/(\w+)/([^"]+)"', json.dumps(place))) - found:
        found = components_of(document, document["components"][kind][name], found | {(kind, name)})
    return found


def test_each_schema_of_the_document_is_compared(gate):
    """A member of another type is found in any schema."""
    current = json.loads(gate.CURRENT.read_text())
    names = [name for name, schema in current["components"]["schemas"].items() if "properties" in schema]
    assert len(names) > 80
    changed = copy.deepcopy(current)
    reached = {path: components_of(current, methods) for path, methods in current["paths"].items()}
    for name in names:
        members = changed["components"]["schemas"][name]["properties"]
        member = next((each for each in members if "type" in members[each]), next(iter(members)))
        kept, members[member] = members[member], {"type": "boolean"}
        paths = {
            path: current["paths"][path] for path, found in reached.items() if ("schemas", name) in found
        }
        path = min(paths, key=lambda path: len(reached[path]))  # a whole document takes 0.15 s
        one = {"paths": {path: paths[path]}}
        assert any(f".{member}: " in each for each in gate.breaks(current | one, changed | one)), name
        members[member] = kept


@pytest.fixture
def files(gate, monkeypatch, tmp_path):
    monkeypatch.setattr(gate, "CURRENT", tmp_path / "openapi.json")
    monkeypatch.setattr(gate, "RELEASED", tmp_path / "openapi-released.json")
    gate.CURRENT.write_text(json.dumps(document()))
    return gate


def test_the_command_records_a_release_and_then_keeps_it(files, capsys):
    assert files.main([]) == 1
    assert "openapi-released.json is missing" in capsys.readouterr().out
    assert files.main(["--record"]) == 0
    assert files.main([]) == 0
    assert json.loads(files.RELEASED.read_text())["info"] == {"version": "1"}
    longer = document()
    ADDITIONS["a path"](longer)
    files.CURRENT.write_text(json.dumps(longer))
    assert files.main(["--record"]) == 0
    assert "/v2/more" in json.loads(files.RELEASED.read_text())["paths"]


def test_the_command_tells_what_breaks_and_what_to_do(files, capsys):
    files.main(["--record"])
    broken = document()
    sent(broken)["properties"].pop("side")
    files.CURRENT.write_text(json.dumps(broken))
    kept = files.RELEASED.read_text()
    for arguments in ([], ["--record"], ["--although-it-breaks"]):
        capsys.readouterr()
        assert files.main(arguments) == 1
        said = capsys.readouterr().out
        assert f"breaks clients: {CREATE}: request.side: the member is removed" in said
        assert "Make each change an addition" in said
        assert files.RELEASED.read_text() == kept
    assert files.main(["--record", "--although-it-breaks"]) == 0
    assert files.main([]) == 0
