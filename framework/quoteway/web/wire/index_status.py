"""How far an index of chains is."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import text
from quoteway.web.wire.view import View, nullable, required


class BlockSpan(View):
    from_ = required(fields.Integer, 0)
    to = required(fields.Integer, 1)


class IndexedSource(View):
    """``spans`` are the blocks that were read, both inclusive. ``refusal`` says why a source is not read."""

    id = required(fields.String)
    version = required(fields.Integer)
    first_block = required(fields.Integer)
    spans = required([BlockSpan])
    skipped_logs = required(fields.Integer)
    refusal = nullable(fields.String)


class IndexEntry(View):
    network = required(text.NetworkText, "chain_id")
    chain_id = required(fields.Integer)
    state = required(fields.String)
    percent = required(fields.Float)
    blocks_per_second = required(fields.Float, "blocks_per_s")
    logs_per_second = required(fields.Float, "logs_per_s")
    eta_seconds = nullable(fields.Integer, "eta_s")
    head_block = nullable(fields.Integer, "head")
    indexed_block = nullable(fields.Integer)
    finalized_block = nullable(fields.Integer)
    lag_blocks = nullable(fields.Integer)
    lag_seconds = nullable(fields.Integer, "lag_s")
    problem = nullable(fields.String)
    sources = required([IndexedSource])
    updated_at = required(text.TimeText)


class IndexStatus(View):
    data = required([IndexEntry])
