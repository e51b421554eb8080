"""The page about publishing a plugin: what it says of the files that ``quoteway new`` writes is so."""

import re
import tomllib
from pathlib import Path

import pytest
from quoteway.host.states import NotEnabled
from quoteway.server.new_plugin import rendered

DOCS = Path(__file__).parents[1] / "docs"
PUBLISH = (DOCS / "how-to" / "publish-a-plugin.md").read_text()


@pytest.fixture(scope="module")
def written():
    """The files that ``quoteway new swap my-dex`` writes."""
    return dict(rendered("swap", "my-dex"))


def test_the_workflow_is_as_the_publisher_is_registered(written):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(written[".github/workflows/publish.yml"])
    job = workflow["jobs"]["publish"]
    assert workflow[True]["push"]["tags"] == ["v*"]  # YAML 1.1 reads the key "on" as true
    assert (job["environment"], job["permissions"]) == ("pypi", {"id-token": "write"})
    for said in ("workflow `publish.yml`", "environment `pypi`", "tags `v*`", "`id-token: write`"):
        assert said in PUBLISH
    assert "password" not in written[".github/workflows/publish.yml"]


def test_no_license_is_chosen_and_the_version_is_that_of_the_page(written):
    project = tomllib.loads(written["pyproject.toml"])["project"]
    assert not {"license", "license-files"} & project.keys()
    (wheel,) = set(re.findall(r"quoteway_my_dex-[\w.]+-py3-none-any\.whl", PUBLISH))
    assert wheel == f"quoteway_my_dex-{project['version']}-py3-none-any.whl"
    assert f"`git tag v{project['version']}`" in PUBLISH


def test_every_reason_is_a_reason_of_a_plugin():
    found = set(re.findall(r"\(`([a-z_]+)`\)", PUBLISH))
    assert {"lock_mismatch", "level_too_low", "unpinned_descriptions"} <= found <= {*NotEnabled}
