"""How far an index of chains is."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import text
from quoteway.web.wire.view import View, nullable, required


class BlockSpan(View):
    from_ = required(fields.Integer, 0, description="First block that was read")
    to = required(fields.Integer, 1, description="Last block that was read")


class IndexedSource(View):
    """``spans`` are the blocks that were read, both inclusive. ``refusal`` says why a source is not read."""

    id = required(fields.String, description="Name of the event source, as its plugin declares it")
    version = required(
        fields.Integer, description="Version of the declaration; a new one is read from the start"
    )
    first_block = required(fields.Integer, description="Block from which on the source has events")
    spans = required([BlockSpan], description="Blocks that were read, both ends inclusive")
    skipped_logs = required(
        fields.Integer, description="Logs that did not have the declared form and were left out"
    )
    refusal = nullable(fields.String, description="Why the source is not read. Null when it is")


class IndexEntry(View):
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    state = required(
        fields.String,
        description="`starting`, `indexing` (history is missing), `following` (complete), `waiting` "
        "(the last attempt failed) or `stopped`",
    )
    percent = required(fields.Float, description="How much of the history is indexed, in percent")
    blocks_per_second = required(fields.Float, "blocks_per_s", description="Blocks indexed a second, of late")
    logs_per_second = required(fields.Float, "logs_per_s", description="Logs indexed a second, of late")
    eta_seconds = nullable(
        fields.Integer, "eta_s", description="Estimated seconds until the history is complete"
    )
    head_block = nullable(fields.Integer, "head", description="Newest block that the index knows of")
    indexed_block = nullable(fields.Integer, description="Newest block up to which everything is indexed")
    finalized_block = nullable(fields.Integer, description="Newest block that cannot be reorganised")
    lag_blocks = nullable(fields.Integer, description="Blocks between the head and the newest indexed one")
    lag_seconds = nullable(
        fields.Integer, "lag_s", description="Seconds between the head and the newest indexed block"
    )
    problem = nullable(fields.String, description="Why the last attempt failed. Null when it did not")
    sources = required([IndexedSource], description="Event sources of the network with what was read of each")
    updated_at = required(text.TimeText, description="When the index told this")


class IndexStatus(View):
    data = required([IndexEntry], description="One row for each network that has an index")
