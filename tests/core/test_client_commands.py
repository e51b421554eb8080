"""Commands that other distributions declare in the entry-point group ``quoteway.commands``."""

import importlib_metadata
import pytest
from click.testing import CliRunner
from importlib_metadata import EntryPoint, EntryPoints
from quoteway.server.cli import main
from quoteway.server.client_commands import COMMANDS_OF_CLIENT, GROUP


@pytest.fixture
def declared(monkeypatch):
    """Sets the entry points of the group, as name and value; other groups stay."""
    installed = importlib_metadata.entry_points

    def declare(**commands):
        points = EntryPoints(EntryPoint(name, value, GROUP) for name, value in commands.items())
        monkeypatch.setattr(
            importlib_metadata,
            "entry_points",
            lambda **asked: points.select(**asked) if asked.get("group") == GROUP else installed(**asked),
        )

    return declare


@pytest.mark.parametrize("name", sorted(COMMANDS_OF_CLIENT))
def test_without_the_client_its_commands_say_how_to_install_it(declared, name):
    declared()
    done = CliRunner().invoke(main, [name, "ETH"])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "python -m pip install 'quoteway-client[cli]'" in line


def test_a_command_is_found_and_listed(declared):
    declared(greet="quoteway.server.describe_command:describe")
    assert CliRunner().invoke(main, ["greet", "--help"]).exit_code == 0
    assert "  greet" in CliRunner().invoke(main, ["--help"]).stdout


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("quoteway_nowhere:command", "ModuleNotFoundError"),
        ("quoteway.errors:ConfigError", "is no click command"),
    ],
    ids=["no module", "no command"],
)
def test_a_command_that_cannot_be_imported_costs_itself_alone(declared, value, said):
    declared(greet=value)
    done = CliRunner().invoke(main, ["greet"])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert said in line
    listed = CliRunner().invoke(main, ["--help"])
    assert listed.exit_code == 0
    assert "  serve" in listed.stdout
    assert "  greet" not in listed.stdout
    assert said in listed.stderr


def test_a_command_of_the_core_is_never_replaced(declared):
    declared(openapi="quoteway_nowhere:command")
    done = CliRunner().invoke(main, ["openapi"])
    assert done.exit_code == 0
    assert done.stdout.startswith("{")


def test_an_unknown_command_is_unknown(declared):
    declared()
    assert "No such command 'grete'" in CliRunner().invoke(main, ["grete"]).stderr
