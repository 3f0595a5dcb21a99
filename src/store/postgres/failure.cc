#include "store/postgres/failure.h"

#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr std::string_view deadlock = "40P01";
constexpr std::string_view not_serializable = "40001";
constexpr std::string_view lock_not_available = "55P03";
constexpr std::string_view cancelled = "57014";
constexpr std::string_view read_only = "25006";
constexpr std::string_view disk_full = "53100";
constexpr std::string_view stale_plan = "0A000";  // of a prepared statement, after a dump was restored in its place
constexpr std::string_view another_standing = "SM001";  // of our own: see semel.check_2

}  // namespace

Remedy remedy_for(std::string_view state) {
  if (state == deadlock || state == not_serializable || state == cancelled) return Remedy::repeat;
  if (state == lock_not_available) return Remedy::split;
  if (state == read_only) return Remedy::reconnect;
  if (state == another_standing || state == stale_plan) return Remedy::greet;
  const std::string_view group = state.substr(0, 2);
  if (group == "08" || group == "57") return Remedy::reconnect;
  if (group == "21" || group == "22" || group == "23" || group == "54" || group == "P0") return Remedy::split;
  return Remedy::refuse;
}

Error refusal(std::string_view state, const std::string& message) {
  std::string detail = "PostgreSQL: " + message + " (SQLSTATE " + std::string(state) + ")";
  const std::string_view group = state.substr(0, 2);
  if (state == disk_full) return {.code = Code::full, .detail = detail};
  if (state == lock_not_available) {
    return {.code = Code::unavailable, .detail = "another transaction holds the row of this key for too long"};
  }
  if (group == "22") return {.code = Code::invalid, .detail = detail};
  if (group == "42" || group == "3F") detail += "; see `semel migrate` and the rights of the role";
  return {.code = Code::unavailable, .detail = detail};
}

}  // namespace semel::store::postgres
