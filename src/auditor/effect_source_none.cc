// A build without PostgreSQL has no database that could be audited.
#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "auditor/effect_source.h"
#include "config/audit.h"
#include "core/check.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

Error none() {
  return {.code = Code::invalid, .detail = "[[audit]] needs PostgreSQL, and this program was built without"};
}

}  // namespace

void EffectSource::Part::operator()(Connected* connected) const {
  core::check(connected == nullptr, "there is no connection");
}
Result<EffectSource> EffectSource::open(const Clock& /*clock*/, const config::AuditConfig& /*audit*/) {
  return std::unexpected(none());
}
Result<void> EffectSource::check() {
  return std::unexpected(none());
}
Result<SourceStanding> EffectSource::standing() {
  return std::unexpected(none());
}
Result<void> EffectSource::begin() {
  return std::unexpected(none());
}
void EffectSource::end() {}
Result<std::uint64_t> EffectSource::estimate(const EffectSpan& /*span*/) {
  return std::unexpected(none());
}
Result<void> EffectSource::read(const EffectSpan& /*span*/, const EffectShare& /*share*/, const std::string& /*plant*/,
                                const Take& /*take*/) {
  return std::unexpected(none());
}
std::function<void()> EffectSource::canceller() {
  return [] {};
}

}  // namespace semel::auditor
