"""The section of the plugin: what is refused, and how the key is given."""

import pytest
from marshmallow import ValidationError
from quoteway_coinmarketcap.settings import CoinMarketCapSettings


@pytest.mark.parametrize(
    "section",
    [
        {"api_key": "literal"},
        {"base_url": "pro-api.coinmarketcap.com"},
        {"base_url": "https://user:secret@api.example"},
        {"base_url": "https://api.example?key=1"},
        {"tokens": 0},
        {"tokens": "100"},
        {"requests_per_minute": 0},
        {"refresh_s": 0},
        {"timeout_s": float("nan")},
        {"platforms": {"Fantom": "250"}},
        {"platforms": {"": 250}},
        {"key": "x"},
    ],
)
def test_bad_settings_are_refused(section):
    with pytest.raises(ValidationError):
        CoinMarketCapSettings().load(section)


def test_the_defaults_need_nothing(monkeypatch):
    assert CoinMarketCapSettings().load({})["api_key"] is None
    monkeypatch.setenv("CMC", "a-key")
    assert CoinMarketCapSettings().load({"api_key": {"env": "CMC"}})["api_key"].reveal() == "a-key"
    monkeypatch.setenv("CMC", "a key\n")
    with pytest.raises(ValidationError):
        CoinMarketCapSettings().load({"api_key": {"env": "CMC"}})
