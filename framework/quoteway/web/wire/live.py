"""The events of live answers: what is told of a topic, and of the stream itself."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import text
from quoteway.web.wire.errors import ErrorMembers
from quoteway.web.wire.parts import BlockRef
from quoteway.web.wire.quotes import QuoteResult
from quoteway.web.wire.view import View, hidden, required


class Head(View):
    """Newest block of a network."""

    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    block = required(BlockRef, description="Newest block")


class QuoteChange(QuoteResult):
    """What has become of a quote that is followed. `quote` is the best quote now for the same request, or the
    expired one itself; `error` says why there is none.
    """

    quote_id = required(fields.String, description="Id of the quote that is followed")
    change = required(
        fields.String,
        description="`unchanged`, `improved` or `worsened`: what `quote` pays, or with `exactOut` takes, "
        "beside the quote that is followed. `below_minimum`: its minimum, or maximum, can no longer be had. "
        "`unavailable`: there is no quote now, see `error`. `expired`: it can no longer be used; the last "
        "event of the topic. More may be added within v2",
    )


class TopicFailure(View):
    """Why the state of a topic is not known at the moment. The next event of the topic ends it."""

    topic = required(fields.String, description="Member of the query, such as `heads`")
    item = required(fields.String, description="Item of the member, such as `ethereum`")
    error = required(ErrorMembers, hidden, description="Error that a request for the state would have")


class StreamLost(View):
    """Events were missed that are not kept. The present state of every topic follows."""

    reason = required(
        fields.String,
        description="`unknown_id`: `Last-Event-ID` is of another process, or no id. `too_old`: newer events "
        "are no longer kept. More may be added within v2",
    )


class StreamEnd(View):
    """Last event of a stream."""

    reason = required(
        fields.String,
        description="`complete`: every topic has had its last event. `lifetime`: the stream has lasted as "
        "long as the deployment allows. `draining`: the process stops. More may be added within v2",
    )
    reconnect = required(
        fields.Boolean, description="Whether to connect again, with the last id as `Last-Event-ID`"
    )
