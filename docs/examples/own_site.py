"""Serves a folder of static files, such as a web interface of your own, at ``/`` for browsers.

[plugin.own-site]
folder = "/srv/site"
[server]
site = "own-site"
"""

from pathlib import Path

import quoteway
from marshmallow import Schema, fields


class Settings(Schema):
    folder = fields.String(required=True)  # with index.html, which names the other files /site/...


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_site(context):
    folder = Path(context.settings["folder"])
    return quoteway.Site(folder, missing=f"There is no index.html in {folder}.")
