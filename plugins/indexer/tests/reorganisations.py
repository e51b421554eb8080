"""Random reorganisations of a chain, with crashes of the index that is kept of it."""

import random

from crashing import CrashError, crash
from index_chain import Index, Traffic, chain_at, clean_contents, sources_of


async def trials(devnet, folder, count, seed, *, most_depth=64, settings=None, statements=60):
    """Reorganises a chain ``count`` times, and lets the index crash at a random statement after each.

    The statement is one of the first ``statements``. The index is compared with a clean one of DuckDB after
    each. ``settings`` say where it is; in a file of DuckDB too by default. Returns how often it crashed.
    """
    chance, crashes = random.Random(seed), 0
    declared = sources_of(devnet.chains["devnet"])
    traffic = Traffic(devnet, seed)
    kept, clean = settings or folder / "kept.duckdb", folder / "clean.duckdb"
    try:
        traffic.mine(70, most=2)
        async with chain_at(devnet.urls["devnet"]) as chain:
            await clean_contents(chain, declared, kept)
            for _ in range(count):
                traffic.reorganise(chance.randint(1, most_depth))
                traffic.mine(chance.randint(1, 3))
                crashes += await _crash_once(chain, declared, kept, chance.randint(3, statements))
                found = await clean_contents(chain, declared, kept)
                clean.unlink(missing_ok=True)
                assert found == await clean_contents(chain, declared, clean)
    finally:
        traffic.close()
    return crashes


async def _crash_once(chain, declared, place, at):
    index = Index(chain, declared, place)
    crash(index.store, at)
    try:
        await index.once()
    except CrashError:
        return 1
    finally:
        index.store._connection = index.store._connection._connection
        await index.close()
    return 0
