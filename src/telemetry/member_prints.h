// Short hashes of the members of a JSON body, so that of two bodies it can be said which members differ. They name
// members and hold no value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace semel::telemetry {

struct MemberPrint {
  std::string name;
  std::uint64_t value = 0;  // a hash of what is written

  friend bool operator==(const MemberPrint&, const MemberPrint&) = default;
};

inline constexpr std::size_t member_prints_max = 16;
inline constexpr std::size_t member_name_bytes_max = 64;

// Of the first members of an object; of anything else none. Names that are too long are left out.
std::vector<MemberPrint> member_prints(std::string_view body);

// The names of those that one has and the other has not, or has with another value. Empty if one of them has none.
std::vector<std::string> differing_members(const std::vector<MemberPrint>& first,
                                           const std::vector<MemberPrint>& second);

}  // namespace semel::telemetry
