"""Binds the functions that build calls to the two clients: their signatures exist once."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from quoteway_client.calls import Call
from quoteway_client.errors import UnexpectedAnswer
from quoteway_client.exchange import Flow, Gateway

P = ParamSpec("P")
T = TypeVar("T")
Row_co = TypeVar("Row_co", covariant=True)
Row = TypeVar("Row")
PageT = TypeVar("PageT", bound="Page[Any]")


class Runner(Protocol):
    """A client whose methods block."""

    @property
    def gateway(self) -> Gateway: ...

    def run(self, flow: Flow[T]) -> T: ...


class AsyncRunner(Protocol):
    """A client whose methods are awaited."""

    @property
    def gateway(self) -> Gateway: ...

    async def run(self, flow: Flow[T]) -> T: ...


class Page(Protocol[Row_co]):
    """One page of a list."""

    @property
    def data(self) -> tuple[Row_co, ...]: ...

    @property
    def next_cursor(self) -> str | None: ...


class Resource:
    """Operations of a blocking client."""

    def __init__(self, client: Runner) -> None:
        self._client = client


class ResourceAsync:
    """Operations of an asynchronous client."""

    def __init__(self, client: AsyncRunner) -> None:
        self._client = client


def Blocking(build: Callable[P, Call[T]]) -> Callable[Concatenate[Resource, P], T]:  # noqa: N802 - reads as a declaration
    """Makes a method of ``Resource`` of a function that builds a call."""

    @functools.wraps(build)
    def method(resource: Resource, /, *args: P.args, **options: P.kwargs) -> T:
        client = resource._client
        return client.run(client.gateway.call(build(*args, **options)))

    return method


def Awaited(  # noqa: N802
    build: Callable[P, Call[T]],
) -> Callable[Concatenate[ResourceAsync, P], Coroutine[Any, Any, T]]:
    """Makes a method of ``ResourceAsync`` of a function that builds a call."""

    @functools.wraps(build)
    async def method(resource: ResourceAsync, /, *args: P.args, **options: P.kwargs) -> T:
        client = resource._client
        return await client.run(client.gateway.call(build(*args, **options)))

    return method


class Rows(Generic[Row]):
    """A list: iterate over its rows, or over ``pages()`` for what pages tell beside them, such as
    ``partial``.
    """

    def __init__(self, client: Runner, call: Call[Page[Row]]) -> None:
        self._client, self._call = client, call

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            yield from page.data

    def pages(self) -> Iterator[Page[Row]]:
        """Yields the pages, each read when it is reached."""
        call: Call[Page[Row]] | None = self._call
        while call is not None:
            page = self._client.run(self._client.gateway.call(call))
            yield page
            call = next_page(call, page)


class AsyncRows(Generic[Row]):
    """A list: iterate over its rows with ``async for``, or over ``pages()``."""

    def __init__(self, client: AsyncRunner, call: Call[Page[Row]]) -> None:
        self._client, self._call = client, call

    async def __aiter__(self) -> AsyncIterator[Row]:
        async for page in self.pages():
            for row in page.data:
                yield row

    async def pages(self) -> AsyncIterator[Page[Row]]:
        """Yields the pages, each read when it is reached."""
        call: Call[Page[Row]] | None = self._call
        while call is not None:
            page = await self._client.run(self._client.gateway.call(call))
            yield page
            call = next_page(call, page)


def Listed(  # noqa: N802
    build: Callable[P, Call[Page[Row]]],
) -> Callable[Concatenate[Resource, P], Rows[Row]]:
    """Makes a method of ``Resource`` that returns a list's rows."""

    @functools.wraps(build)
    def method(resource: Resource, /, *args: P.args, **options: P.kwargs) -> Rows[Row]:
        return Rows(resource._client, build(*args, **options))

    return method


def AsyncListed(  # noqa: N802
    build: Callable[P, Call[Page[Row]]],
) -> Callable[Concatenate[ResourceAsync, P], AsyncRows[Row]]:
    """Makes a method of ``ResourceAsync`` that returns a list's rows."""

    @functools.wraps(build)
    def method(resource: ResourceAsync, /, *args: P.args, **options: P.kwargs) -> AsyncRows[Row]:
        return AsyncRows(resource._client, build(*args, **options))

    return method


def next_page(call: Call[PageT], page: Page[Any]) -> Call[PageT] | None:
    """Returns the call of the page after ``page``; None where it is the last. Raises ``UnexpectedAnswer``."""
    if page.next_cursor is None:
        return None
    if page.next_cursor == (call.query or {}).get("cursor"):
        raise UnexpectedAnswer("the list does not end: a page names itself as the next one", 200)
    return replace(call, query={**(call.query or {}), "cursor": page.next_cursor})
