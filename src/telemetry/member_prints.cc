#include "telemetry/member_prints.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/view.h"

namespace semel::telemetry {

std::vector<MemberPrint> member_prints(std::string_view body) {
  std::vector<MemberPrint> prints;
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || body[begin] != '{') return prints;
  const auto take = [&](std::string_view name, core::json::JsonView value) {
    if (name.size() <= member_name_bytes_max) {
      prints.push_back({.name = std::string(name), .value = std::hash<std::string_view>()(value.raw())});
    }
    return prints.size() < member_prints_max;
  };
  core::json::JsonView(body.substr(begin)).members(take);
  return prints;
}

std::vector<std::string> differing_members(const std::vector<MemberPrint>& first,
                                           const std::vector<MemberPrint>& second) {
  std::vector<std::string> names;
  if (first.empty() || second.empty()) return names;
  const auto add_missing = [&](const std::vector<MemberPrint>& from, const std::vector<MemberPrint>& in) {
    for (const MemberPrint& print : from) {
      const bool there = std::ranges::find(in, print) != in.end();
      if (!there && std::ranges::find(names, print.name) == names.end()) names.push_back(print.name);
    }
  };
  add_missing(first, second);
  add_missing(second, first);
  return names;
}

}  // namespace semel::telemetry
