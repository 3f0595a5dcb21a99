// The operators' listener: the one place that reads a request, checks who sent it and writes the answer. What is
// answered is in the table of pages (page.h).
//
// In this order: 421 if the listener is called by a name that is not its own, 405 for a method that no row of the path
// takes, 403 or 401 without the token, 404, 400 if the body cannot be read; then the row's handler. The token is also
// needed for a path without a row, so that only its holders learn which pages exist.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "admin/page.h"
#include "admin/sources.h"
#include "http/session.h"
#include "http/transaction.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

// Whether only this machine reaches the listener.
enum class Exposure : std::uint8_t { loopback, network };

class Admin : public http::RequestHandler {
 public:
  Admin(Sources sources, Exposure exposure, std::span<const Page> pages = table());

  Task<void> handle(http::Transaction& transaction) override;

 private:
  Task<void> answer(http::Transaction* client);
  // Nothing if the answer has been sent.
  Task<std::optional<Response>> response_to(http::Transaction* client, policy::RequestView request);

  const Sources sources_;
  const Exposure exposure_;
  const std::span<const Page> pages_;
};

}  // namespace semel::admin
