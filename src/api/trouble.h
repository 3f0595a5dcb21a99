// Why a call of the claims API, or one item of it, was refused: a problem (RFC 9457) that can point to a member of the
// request, and how it is written.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "core/json/writer.h"
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/result.h>

namespace semel::api {

struct Trouble {
  std::uint16_t status = 400;
  std::string_view slug;  // behind reply.problem_base it is the type
  std::string_view title;
  std::string detail;   // repeats no value of the request
  std::string pointer;  // RFC 6901, to the member that is wrong; empty if there is none
  Problem::Retry retry = Problem::Retry::never;
  Millis retry_after{0};
};

// What is wrong with something, if anything is.
using Checked = std::expected<void, Trouble>;

// 400: the request, or the member at `pointer`, is not as docs/claims.md says.
Trouble invalid(std::string pointer, std::string detail);
// 401, 403: who calls, and what the token may do.
Trouble no_token();
Trouble not_allowed(std::string pointer, std::string detail);
// 413, 429.
Trouble too_large(std::string pointer, std::string detail);
Trouble too_many(Millis retry_after);
// 409: the claim is over; its holder drops its result.
Trouble claim_lost();
// A claim by an owner whose claim of this key is over.
Trouble owner_ended();
// The store did not answer (503), or cannot read the record (500).
Trouble of_store(const Error& error);
// One that the gateway has too.
Trouble of_problem(const Problem& problem, Millis retry_after);

// Its members, into an object that has been begun. `base` is reply.problem_base.
void write_members(core::json::JsonWriter& json, const Trouble& trouble, std::string_view base);

}  // namespace semel::api
