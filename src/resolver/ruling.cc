#include "resolver/ruling.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "reading/units.h"
#include <semel/clock.h>

namespace semel::resolver {
namespace {

ResolverRuling again(std::string why) {
  return {.kind = RulingKind::ask_again, .why = std::move(why)};
}

ResolverRuling person(std::string why) {
  return {.kind = RulingKind::person, .why = std::move(why)};
}

ResolverRuling of_pending(const RulingTerms& terms, const Doubt& doubt) {
  if (doubt.watched < terms.certain_after) return again("the source has begun on it, and has no answer yet");
  return person(
      fmt::format("the source has begun on it, and has had no answer for {}", reading::duration_text(doubt.watched)));
}

ResolverRuling of_absent(const RulingTerms& terms, const Doubt& doubt, Millis lag) {
  if (doubt.seen) return person("the source had this key before, and has it no longer");
  if (doubt.age > terms.kept_for) {
    return person(
        fmt::format("the source does not have it, but the key is older than {} (kept_for), so that proves "
                    "nothing",
                    reading::duration_text(terms.kept_for)));
  }
  const Millis needed = terms.certain_after + lag;
  if (doubt.watched < needed) {
    return again(fmt::format("the source has not had it for {}; that proves something after {}",
                             reading::duration_text(doubt.watched), reading::duration_text(needed)));
  }
  return {.kind = RulingKind::not_done,
          .why = fmt::format("the source was asked for {} and has not had it", reading::duration_text(doubt.watched))};
}

}  // namespace

ResolverRuling rule(const RulingTerms& terms, const Doubt& doubt, const Testimony& said) {
  switch (said.said) {
    case SourceSaid::nothing:
      return again("the source could not be asked: " + said.detail);
    case SourceSaid::failed:
    case SourceSaid::unclear:
      return again("the source could not say: " + said.detail);
    case SourceSaid::found:
      return {.kind = RulingKind::done,
              .why = fmt::format("the source has its answer, with status {}", said.answer->status),
              .response = said.answer};
    case SourceSaid::pending:
      return of_pending(terms, doubt);
    case SourceSaid::absent:
      return of_absent(terms, doubt, said.lag);
    case SourceSaid::contradictory:
      break;
  }
  return person(said.detail);
}

std::string_view name_of(RulingKind kind) {
  switch (kind) {
    case RulingKind::done:
      return "done";
    case RulingKind::not_done:
      return "not-done";
    case RulingKind::person:
      return "person";
    default:
      return "ask-again";
  }
}

}  // namespace semel::resolver
