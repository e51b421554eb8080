"""Networks: every name finds its network, no name can find another's."""

import pytest
from quoteway.errors import ConfigError
from quoteway.networks import Endpoint, Network, Networks

ETHEREUM = Network("ethereum", 1, "Ethereum")
BASE = Network("base", 8453, "Base")


@pytest.mark.parametrize("text", ["base", "BASE", "8453", "eip155:8453"])
def test_every_alias_finds_the_network(text):
    assert Networks([ETHEREUM, BASE]).find(text) == BASE


@pytest.mark.parametrize(
    "text",
    ["", "bas", "08453", "0x2105", "eip155:08453", "eip155:", "-1", "８４５３", "1" * 5000, "8453 ", "\0"],
)
def test_what_is_no_exact_alias_finds_nothing(text):
    assert Networks([ETHEREUM, BASE]).find(text) is None


def test_an_unknown_name_names_the_nearest_and_not_itself():
    assert Networks([ETHEREUM, BASE]).suggestion("etherium") == " Did you mean 'ethereum'?"


@pytest.mark.parametrize("other", [Network("ethereum", 5, "Goerli"), Network("mainnet", 1, "Mainnet")])
def test_a_clash_names_both(other):
    networks = Networks([ETHEREUM])
    with pytest.raises(ConfigError) as refusal:
        networks.add(other)
    for part in (other.slug, str(other.chain_id), "ethereum", "1"):
        assert part in str(refusal.value)
    assert networks.find("ethereum") == ETHEREUM


@pytest.mark.parametrize("slug", ["137", "Base", "a b", "-a", "a--b", "", "eip155:1", "bäse"])
def test_a_name_that_cannot_be_asked_for_or_reads_as_a_chain_id_is_refused(slug):
    with pytest.raises(ConfigError, match="network name"):
        Networks([Network(slug, 1, "x")])


@pytest.mark.parametrize("chain_id", [0, -1, 2**53, True, "1", 1.0])
def test_a_chain_id_that_is_none_is_refused(chain_id):
    with pytest.raises(ConfigError, match="chain id"):
        Networks([Network("x", chain_id, "x")])


def test_two_descriptions_of_one_network_are_merged_and_the_first_keeps_its_facts():
    first = Network("base", 8453, "Base", endpoints=(Endpoint("http://a"),), deployments={"u": ({"v": 1},)})
    second = Network(
        "base",
        8453,
        "Another name",
        endpoints=(Endpoint("http://a"), Endpoint("http://b")),
        deployments={"u": ({"v": 2},), "w": ({},)},
        token_lists=("list.json",),
    )
    (merged,) = Networks([first, second])
    assert merged.name == "Base"
    assert [endpoint.url for endpoint in merged.endpoints] == ["http://a", "http://b"]
    assert merged.deployments == {"u": ({"v": 1}, {"v": 2}), "w": ({},)}
    assert merged.token_lists == ("list.json",)
    assert merged.caip2 == "eip155:8453"


def test_an_endpoint_never_shows_its_credentials():
    endpoint = Endpoint("https://user:hunter2@rpc.example/key", {"Authorization": "Bearer hunter2"}, "main")
    assert "hunter2" not in repr(endpoint)
    assert "hunter2" not in repr(Network("x", 1, "X", endpoints=(endpoint,)))
