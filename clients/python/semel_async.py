"""The client for asyncio: the same calls in threads of its own, because the standard library has no asynchronous HTTP.

    api = semel_async.Client(semel.Client(url, token))
    receipt = await api.once("order-17", charge)          # async def charge(attempt): …

A function whose claim is lost is cancelled, and once() raises ClaimLost.
"""
from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any, Awaitable, Callable, TypeVar, Union

import semel

T = TypeVar("T")


class Client:
    """`threads` is how many claims can be under way at a time; one that waits for a key (`wait`) takes a thread all the while.
    Ends have threads of their own, since those who wait are waiting for them."""

    def __init__(self, api: semel.Client, threads: int = 64):
        self.api = api
        self.claims = concurrent.futures.ThreadPoolExecutor(threads, "semel-claims")
        self.ends = concurrent.futures.ThreadPoolExecutor(threads, "semel-ends")
        self.under_way: set[asyncio.Task[Any]] = set()  # a task that nobody refers to may vanish

    async def call(self, function: Callable[..., T], *words: Any, **named: Any) -> T:
        """A function of the blocking client that does not wait for a key."""
        return await asyncio.get_running_loop().run_in_executor(self.ends, lambda: function(*words, **named))

    async def to_its_end(self, work: Awaitable[T]) -> T:
        """Goes on with the work although the caller is cancelled: a claim must be ended by somebody."""
        task = asyncio.ensure_future(work)
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        return await asyncio.shield(task)

    async def begin(self, key: str, **terms: Any) -> Union[semel.Attempt, semel.Done]:
        """As the blocking one. If the caller is cancelled meanwhile, a claim that is granted is given back."""
        task = asyncio.get_running_loop().run_in_executor(self.claims, lambda: self.api.begin(key, **terms))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._give_back)
            raise

    def _give_back(self, task: asyncio.Future[Any]) -> None:
        if task.exception() is None and isinstance(task.result(), semel.Attempt):
            self.ends.submit(semel.end_failed, task.result(), semel.NoEffect())

    async def once(self, key: str, fn: Callable[[semel.Attempt], Awaitable[Any]], **terms: Any) -> Any:
        got = await self.begin(key, **terms)
        if isinstance(got, semel.Done):
            return got.value
        return (await self.run(got, fn)).value

    async def run(self, attempt: semel.Attempt, fn: Callable[[semel.Attempt], Awaitable[Any]]) -> semel.Done:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(fn(attempt))
        attempt.on_lost = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            result = semel.result_of(await task)
        except BaseException as error:
            task.cancel()
            await self.to_its_end(self.call(semel.end_failed, attempt, error))
            if isinstance(error, asyncio.CancelledError):
                attempt.check()  # cancelled by us: the claim is lost
            raise
        return await self.to_its_end(self.call(semel.keep, attempt, result))
