// How Semel waits: Asio coroutines on an io_context that one thread runs.
//
// One thread per io_context is part of the contract (see docs/adr/0003-coroutine-style.md): a coroutine is resumed
// where it was started, so what it touches needs no lock. Run several io_contexts for several threads.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/result.h>

namespace semel {

using Executor = boost::asio::io_context::executor_type;

template <class T>
using Task = boost::asio::awaitable<T, Executor>;  // cannot fail

template <class T>
using Async = Task<Result<T>>;

}  // namespace semel
