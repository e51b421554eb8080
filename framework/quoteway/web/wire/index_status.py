"""How far an index of chains is."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import text
from quoteway.web.wire.view import View, nullable, required


class BlockSpan(View):
    from_ = required(fields.Integer, 0, description="First block of the span")
    to = required(fields.Integer, 1, description="Last block of the span, included")


class IndexedSource(View):
    """Event source of an index, with what was read of it."""

    id = required(fields.String, description="Name of the event source, as its plugin declares it")
    version = required(
        fields.Integer,
        description="Version of the declaration. A new version is read again from the first block",
    )
    first_block = required(fields.Integer, description="First block that is read for the source")
    spans = required([BlockSpan], description="Spans of blocks that were read, in ascending order")
    skipped_logs = required(
        fields.Integer,
        description="Number of logs left out since the index process started, because they lack the "
        "declared form",
    )
    refusal = nullable(
        fields.String,
        description="What is wrong with the source, which is not read for it. Null when it is read",
    )


class IndexEntry(View):
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    state = required(
        fields.String,
        description="`starting`: no block was read yet. `indexing`: history is missing. `following`: "
        "complete, new blocks are read as they come. `waiting`: the last attempt failed, "
        "another one follows. `stopped`: the index process says nothing any more",
    )
    percent = required(
        fields.Float, description="Part of the blocks of all sources that was read, in percent: 100 is all"
    )
    blocks_per_second = required(
        fields.Float, "blocks_per_s", description="Blocks read in a second, in the last seconds"
    )
    logs_per_second = required(
        fields.Float, "logs_per_s", description="Logs read in a second, in the last seconds"
    )
    eta_seconds = nullable(
        fields.Integer, "eta_s", description="Estimated seconds until the history is complete"
    )
    head_block = nullable(
        fields.Integer, "head", description="Number of the newest block that the index process knows"
    )
    indexed_block = nullable(fields.Integer, description="Number of the newest indexed block")
    finalized_block = nullable(fields.Integer, description="Number of the newest finalized block")
    lag_blocks = nullable(fields.Integer, description="`headBlock` less `indexedBlock`")
    lag_seconds = nullable(
        fields.Integer, "lag_s", description="Time of `headBlock` less that of `indexedBlock`, in seconds"
    )
    problem = nullable(
        fields.String, description="Why the last attempt failed, in a sentence. Null when it did not fail"
    )
    sources = required([IndexedSource], description="Event sources of the network")
    updated_at = required(text.TimeText, description="Time at which the index process reported this")


class IndexStatus(View):
    data = required([IndexEntry], description="One row for each network that has an index")
