// How Semel waits: Asio coroutines, on an io_context that one thread runs.
//
// One thread per io_context is part of the contract (see docs/adr/0003-coroutine-style.md): a coroutine is resumed
// where it was started, so its data needs no lock. To use several threads, run one io_context in each.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/result.h>

namespace semel {

using Executor = boost::asio::io_context::executor_type;

// A coroutine that returns T. Start it with boost::asio::co_spawn() on an io_context, or co_await it in another Task.
template <class T>
using Task = boost::asio::awaitable<T, Executor>;

// A Task that can fail: it returns T or an Error.
template <class T>
using Async = Task<Result<T>>;

}  // namespace semel
