"""Dialects of nodes that limit ``eth_getLogs``: ``refuse`` of a ``ChainNode``."""

from collections import Counter

from chain_node import RefusalError


def ends(chain, wanted):
    return [chain.at(wanted.get(name, "latest")) for name in ("fromBlock", "toBlock")]


def blocks_with_a_hint(most, text="eth_getLogs is limited to a {most} blocks range", code=-32614):
    def refuse(chain, wanted, logs):
        first, last = ends(chain, wanted)
        if last - first + 1 > most:
            raise RefusalError(code, text.format(most=f"{most:,}"))
        return logs

    return refuse


def blocks_without_a_hint(most):
    return blocks_with_a_hint(most, "Block range is too large", -32062)


def results(most, *, hint=False, data=False):
    def refuse(chain, wanted, logs):
        if len(logs) <= most:
            return logs
        first, _ = ends(chain, wanted)
        count, until, held = 0, first, Counter(log["blockNumber"] for log in logs)
        for number in range(first, chain.height + 1):
            count += held[hex(number)]
            if count > most:
                break
            until = number
        text = f"query returned more than {most} results"
        if hint:
            text += f". Try with this block range [{hex(first)}, {hex(until)}]."
        working = {"from": hex(first), "to": hex(until), "limit": most} if data else None
        raise RefusalError(-32005, text, working)

    return refuse


def truncates(most):
    return lambda chain, wanted, logs: logs[:most]


def bytes_of_answer(most):
    def refuse(chain, wanted, logs):
        if len(str(logs)) > most:
            raise RefusalError(-32008, "Response is too big")
        return logs

    return refuse


def everything(chain, wanted, logs):
    raise RefusalError(-32005, "query returned more than 10000 results")


def minimal_by_blocks(most):
    return lambda chain, wanted: -(-(ends(chain, wanted)[1] - ends(chain, wanted)[0] + 1) // most)


def minimal_by_results(most):
    def calls(chain, wanted):
        first, last = ends(chain, wanted)
        count = held = 0
        per_block = Counter(log["blockNumber"] for log in chain.logs(wanted))
        for number in range(first, last + 1):
            here = per_block[hex(number)]
            if held + here > most:
                count, held = count + 1, 0
            held += here
        return count + 1

    return calls


DIALECTS = {
    "blocks, with a hint": (blocks_with_a_hint(100), minimal_by_blocks(100)),
    "blocks, without": (blocks_without_a_hint(150), minimal_by_blocks(150)),
    "results, with a range in the text": (results(1000, hint=True), minimal_by_results(1000)),
    "results, with a range in the data": (results(700, data=True), minimal_by_results(700)),
    "results, without a hint": (results(1000), minimal_by_results(1000)),
    "truncates silently": (truncates(1000), minimal_by_results(1000)),
    "bytes": (bytes_of_answer(300_000), None),
    "no limit": (None, lambda chain, wanted: 1),
}
