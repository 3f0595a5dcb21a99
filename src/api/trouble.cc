// The texts of problems that only the claims API has; those of the others are in src/core/problem.cc.
#include "api/trouble.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/decision.h"
#include "core/json/writer.h"
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/result.h>

namespace semel::api {

Trouble invalid(std::string pointer, std::string detail) {
  return {.status = 400,
          .slug = "request-invalid",
          .title = "The request is not understood",
          .detail = std::move(detail),
          .pointer = std::move(pointer)};
}

Trouble no_token() {
  return {.status = 401,
          .slug = "token-invalid",
          .title = "The token is missing or not known",
          .detail = "Send Authorization: Bearer and the secret of an [[api.token]]. Nothing was done.",
          .pointer = {}};
}

Trouble not_allowed(std::string pointer, std::string detail) {
  return {.status = 403,
          .slug = "not-allowed",
          .title = "The token may not do this",
          .detail = std::move(detail),
          .pointer = std::move(pointer)};
}

Trouble too_large(std::string pointer, std::string detail) {
  const Problem problem = Problem::of(ProblemType::body_too_large);
  return {.status = problem.status,
          .slug = problem.slug(),
          .title = problem.title(),
          .detail = std::move(detail),
          .pointer = std::move(pointer)};
}

Trouble too_many(Millis retry_after) {
  Trouble trouble = of_problem(Problem::of(ProblemType::rate_limited), retry_after);
  trouble.detail = "The token has used up its rate. Nothing was done. Send the same request again later.";
  return trouble;
}

Trouble claim_lost() {
  return {.status = 409,
          .slug = "claim-lost",
          .title = "The claim is over",
          .detail =
              "The lease ran out, another attempt has the key, or the claim has ended in another way. This call "
              "changed nothing. Drop the result: claim the key again to see what became of it.",
          .pointer = {}};
}

Trouble owner_ended() {
  return {
      .status = 409,
      .slug = "claim-lost",
      .title = "The claim is over",
      .detail = "This owner has released the key. An owner is granted a key once: make a new owner for each attempt.",
      .pointer = "/owner"};
}

Trouble of_store(const Error& error) {
  const Refused refused = core::refused_by(error);
  return of_problem(refused.problem, refused.retry_after);
}

Trouble of_problem(const Problem& problem, Millis retry_after) {
  return {.status = problem.status,
          .slug = problem.slug(),
          .title = problem.title(),
          .detail = std::string(problem.detail()),
          .pointer = {},
          .retry = problem.retry,
          .retry_after = retry_after};
}

void write_members(core::json::JsonWriter& json, const Trouble& trouble, std::string_view base) {
  std::string type(base);
  type.append(trouble.slug);
  json.text("type", type).text("title", trouble.title).number("status", trouble.status);
  json.text("detail", trouble.detail).text("retry", Problem::name(trouble.retry));
  if (trouble.retry_after > Millis{0}) json.number("retry_after_ms", trouble.retry_after.count());
  if (!trouble.pointer.empty()) json.text("pointer", trouble.pointer);
}

}  // namespace semel::api
