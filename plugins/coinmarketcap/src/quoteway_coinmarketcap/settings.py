"""The ``[plugin.coinmarketcap]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate
from quoteway import SecretField, check_api_url, check_header_secret


class CoinMarketCapSettings(Schema):
    """Nothing is requested without ``api_key``."""

    api_key = SecretField(
        load_default=None,
        validate=check_header_secret,
        metadata={"description": "Sent as `X-CMC_PRO_API_KEY`, by the server only."},
    )
    base_url = fields.String(
        load_default="https://pro-api.coinmarketcap.com",
        validate=check_api_url,
        metadata={"description": "Base URL of the API."},
    )
    tokens = fields.Integer(
        strict=True,
        load_default=5_000,
        validate=validate.Range(1, 20_000),
        metadata={"description": "How many coins of the ranking are read."},
    )
    refresh_s = fields.Integer(
        strict=True,
        load_default=600,
        validate=validate.Range(1, 86_400),
        metadata={"description": "How often the ranking is read, in seconds."},
    )
    details_refresh_s = fields.Integer(
        strict=True,
        load_default=86_400,
        validate=validate.Range(1, 30 * 86_400),
        metadata={
            "description": "How often contracts, links and descriptions of a coin are read, in seconds."
        },
    )
    requests_per_minute = fields.Integer(
        strict=True,
        load_default=30,
        validate=validate.Range(1, 600),
        metadata={"description": "The most requests in a minute, as the plan of the key allows."},
    )
    timeout_s = fields.Float(
        load_default=20.0,
        allow_nan=False,
        validate=validate.Range(0.05, 120),
        metadata={"description": "Timeout of a request, in seconds."},
    )
    max_response_bytes = fields.Integer(
        strict=True,
        load_default=32 << 20,
        validate=validate.Range(1024, 256 << 20),
        metadata={"description": "Largest answer, in bytes; a larger one is refused."},
    )
    platforms = fields.Dict(
        keys=fields.String(validate=validate.Length(1, 100)),
        values=fields.Integer(strict=True, validate=validate.Range(1, 2**53 - 1)),
        load_default=dict,
        metadata={"description": "More platforms, by CoinMarketCap's name of each, with the chain id."},
    )
