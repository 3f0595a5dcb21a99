// The answer for a key of unknown outcome, as its upstream gives it now.
#pragma once

#include <expected>

#include <boost/json/object.hpp>

#include "admin/sources.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

// `body` describes the customer's request (described.h): a store keeps neither the text of a key nor the fields that a
// probe may need. Or what to answer instead: 400 if that is not the request of the key in the path, or not enough; 409
// if the upstream says that nothing happened, or that it does not know; 503 if it did not answer.
Task<std::expected<SharedResponse, Response>> answer_of_probe(const Sources* sources, policy::RequestView request,
                                                              const boost::json::object* body);

}  // namespace semel::admin
