"""Served apps with every plugin, one for each file of attacks that asks for it."""

import pytest
import pytest_asyncio
from quoteway.host import call_records


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """On a busy machine too, no competition ends before a slow provider that seldom wins has answered."""
    monkeypatch.setattr(call_records, "AS_FAST", 1e9)
    monkeypatch.setattr(call_records, "LEAST_WAIT_S", 60.0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cheated(devnet):
    """A client with a provider that cheats.

    Its tests run in the event loop of their module: ``pytest.mark.asyncio(loop_scope="module")``. They share
    the chain too, which is restored after the last one.
    """
    from cheating import client_with_a_cheat

    with devnet.restored():
        async with client_with_a_cheat(devnet) as client:
            yield client


@pytest.fixture
def client(cheated):
    """The client of the module, whose ``cheat`` is honest again after each test."""
    yield cheated
    cheated.cheat.honest()


@pytest.fixture(params=[0, 1], ids=["in the quote", "in the action"])
def lie(client, request):
    """``lie(change)``: the cheat's builds are ``change(build)``, at once or after its quote was rehearsed."""

    def begin(change):
        client.cheat.honest_builds = request.param
        client.cheat.build_lie = lambda sealed, build: change(build)

    return begin
