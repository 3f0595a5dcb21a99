// A page of the operators' listener is a row in a table: which request, who may send it, which function answers.
//
// A handler takes values and returns a Response. The body has been read and the token checked before it is called; it
// never sees the connection. A new page is a handler in a file of its own and a row in table.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "admin/caller.h"
#include "admin/sources.h"
#include "http/transaction.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

enum class Access : std::uint8_t {
  anyone,   // no token is asked for
  reader,   // needs a token of any role, if the configuration has one
  changer,  // needs one of an operator, and a configuration that has it: without, any page in a browser could change
            // keys
};

// `sources` and what `request` points to outlive the task.
using PageHandler = Task<Response> (*)(const Sources* sources, policy::RequestView request, Caller caller);

// The same for a page whose answer goes on for as long as somebody reads it. Such a handler sends it itself and returns
// nothing, or returns what is to be answered instead.
using StreamHandler = Task<std::optional<Response>> (*)(const Sources* sources, policy::RequestView request,
                                                        Caller caller, http::Transaction* client);

struct Page {
  std::string_view path;    // with `{id}` for one segment of any text, and with a final `/*` for everything below it
  std::string_view method;  // GET answers HEAD too; of every other method the body is read
  Access access;
  PageHandler handler;
  StreamHandler stream = nullptr;  // instead of `handler`
};

// All pages.
std::span<const Page> table();

struct Found {
  const Page* page = nullptr;  // null if no row is for this request
  std::string allowed;         // then: the methods of the rows with this path; empty if there are none
};

Found find(std::span<const Page> pages, std::string_view method, std::string_view path);

}  // namespace semel::admin
