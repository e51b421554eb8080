"""Tokens and prices of a JSON list with rows such as {"chain": 1, "contract": "0x...", "ticker": "UNI"}.

[plugin.coin-list]
url = "https://tokens.example.org/coins.json"
"""

import quoteway
from marshmallow import Schema, fields
from quoteway import ListCatalog, Token


class Settings(Schema):
    url = fields.String(required=True)


class CoinList(ListCatalog):
    id = "coin-list"
    title = "Coin list"

    def rows(self, document):
        return document["coins"]

    def read_row(self, row):
        labels = {"symbol": row["ticker"], "name": row["name"], "price_usd": row.get("usd")}
        return Token(row["chain"], row["contract"], row["digits"], **labels)


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_token_catalogs(context):
    return [CoinList.of(context, context.settings["url"], every_s=300)]


@quoteway.hookimpl
def quoteway_price_sources(context):
    return [CoinList.of(context, context.settings["url"], every_s=300).price_source()]
