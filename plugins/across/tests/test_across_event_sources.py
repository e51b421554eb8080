"""What an indexer makes of the declared events: each transfer between the devnet's chains, on both."""

import pytest
from quoteway_across.spoke_pool import FILLED_RELAY, FUNDS_DEPOSITED
from transfers import execute_random_transfers

decoding = pytest.importorskip("quoteway_indexer.ingest.decoding", reason="an indexer decodes the events")


def rows_of(source, devnet, slug):
    """Returns the facts of all logs of the source's contracts, with integers for amounts."""
    from quoteway_indexer.ingest.logs import read_logs

    decoder = decoding.compile_source(source)
    with devnet.rpc(slug) as rpc:
        last = int(rpc("eth_blockNumber"), 16)
        wanted = {"fromBlock": "0x0", "address": list(source.addresses), "topics": [sorted(decoder.topics)]}
        batch = read_logs(rpc("eth_getLogs", wanted | {"toBlock": hex(last)}), 0, last)
    decoded = decoding.decode([decoder], batch, dict.fromkeys(batch.numbers, 0), lambda source_id: None)
    assert not decoded.skipped
    table = decoded.facts.get("bridge_event")
    return [] if table is None else table.to_pylist()


async def test_a_transfer_is_sent_on_one_chain_and_filled_on_the_other(harness):
    from quoteway_indexer.ingest.events import read_event

    sources = {each.chain_id: each for each in harness.gateway.runtime.event_sources if each.id == "across"}
    assert sources.keys() == {31337, 31338}
    sent, filled = sources[31337].rules
    assert read_event(sent.event).topic == FUNDS_DEPOSITED
    assert read_event(filled.event).topic == FILLED_RELAY
    report = await execute_random_transfers(harness, 3, seed=7)
    assert (report.done, report.wrong) == (3, [])
    rows = [
        row
        for chain_id, slug in ((31337, "devnet"), (31338, "devnet-l2"))
        for row in rows_of(sources[chain_id], harness.devnet, slug)
    ]
    by_kind = {
        kind: {
            (row["origin_chain_id"], row["destination_chain_id"], row["transfer_id"]): (
                row["token_in"],
                row["token_out"],
                int.from_bytes(row["amount_in"]),
                int.from_bytes(row["amount_out"]),
                row["sender"],
                row["recipient"],
            )
            for row in rows
            if row["kind"] == kind
        }
        for kind in ("sent", "filled")
    }
    assert len(by_kind["sent"]) >= 3
    assert by_kind["sent"] == by_kind["filled"]
    assert all(paid > filled > 0 for _, _, paid, filled, _, _ in by_kind["sent"].values())
