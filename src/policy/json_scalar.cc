// Follows one pointer through a document while Boost.JSON's parser reads it.
#include "policy/json_scalar.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>

#include "core/json/canonical.h"

namespace semel::policy {
namespace {

namespace json = boost::json;
using ErrorCode = json::error_code;

// Follows the pointer while the parser walks through the document. Only the containers that the pointer leads through
// have anything to remember; `depth_` tells when the parser is inside another one.
class Follower {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit Follower(std::span<const std::string> pointer) : pointer_(pointer) {}

  bool on_document_begin(ErrorCode& /*error*/) { return true; }
  bool on_document_end(ErrorCode& /*error*/) { return true; }
  bool on_object_begin(ErrorCode& /*error*/) { return open(false); }
  bool on_object_end(std::size_t /*members*/, ErrorCode& /*error*/) { return close(); }
  bool on_array_begin(ErrorCode& /*error*/) { return open(true); }
  bool on_array_end(std::size_t /*elements*/, ErrorCode& /*error*/) { return close(); }

  bool on_key_part(json::string_view part, std::size_t /*size*/, ErrorCode& /*error*/) {
    name_.append(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t /*size*/, ErrorCode& /*error*/) {
    name_.append(part);
    if (on_path()) {
      Level& level = levels_.back();
      level.leads = name_ == pointer_[levels_.size() - 1];
      if (level.leads && level.led_before) ambiguous_ = true;
      level.led_before = level.led_before || level.leads;
    }
    name_.clear();
    return true;
  }

  bool on_string_part(json::string_view part, std::size_t /*size*/, ErrorCode& /*error*/) { return add(part); }
  bool on_string(json::string_view part, std::size_t /*size*/, ErrorCode& /*error*/) { return end(part); }
  bool on_number_part(json::string_view part, ErrorCode& /*error*/) { return add(part); }
  bool on_int64(std::int64_t /*number*/, json::string_view part, ErrorCode& /*error*/) { return end(part); }
  bool on_uint64(std::uint64_t /*number*/, json::string_view part, ErrorCode& /*error*/) { return end(part); }
  bool on_double(double /*number*/, json::string_view part, ErrorCode& /*error*/) { return end(part); }
  bool on_bool(bool value, ErrorCode& /*error*/) { return end(value ? "true" : "false"); }
  bool on_null(ErrorCode& /*error*/) {
    if (is_target()) kind_ = JsonPresence::null;
    next_element();
    return true;
  }
  bool on_comment_part(json::string_view /*part*/, ErrorCode& /*error*/) { return true; }
  bool on_comment(json::string_view /*part*/, ErrorCode& /*error*/) { return true; }

  [[nodiscard]] std::expected<std::string, JsonMiss> result() && {
    if (ambiguous_) return std::unexpected(JsonMiss::ambiguous);
    if (kind_ != JsonPresence::scalar) return std::unexpected(JsonMiss::not_there);
    return std::move(value_);
  }
  [[nodiscard]] JsonPresence kind() const { return ambiguous_ ? JsonPresence::unclear : kind_; }

 private:
  struct Level {
    bool array = false;
    bool leads = false;       // the member or element that is being read is the one that the pointer names
    bool led_before = false;  // an earlier one was
    std::size_t index = 0;
  };

  [[nodiscard]] bool on_path() const { return !levels_.empty() && depth_ == levels_.size(); }
  [[nodiscard]] bool leads() const {
    if (!on_path()) return false;
    const Level& level = levels_.back();
    return level.array ? pointer_[levels_.size() - 1] == std::to_string(level.index) : level.leads;
  }
  void next_element() {
    if (on_path() && levels_.back().array) ++levels_.back().index;
  }

  bool open(bool array) {
    if (is_target()) kind_ = JsonPresence::nested;
    const bool enter = depth_ == 0 || (leads() && levels_.size() < pointer_.size());
    if (enter) levels_.push_back({.array = array});
    ++depth_;
    return true;
  }
  bool close() {
    if (on_path()) levels_.pop_back();
    --depth_;
    next_element();
    return true;
  }

  [[nodiscard]] bool is_target() const { return leads() && levels_.size() == pointer_.size(); }
  bool add(json::string_view part) {
    if (is_target()) value_.append(part);
    return true;
  }
  bool end(json::string_view part) {
    add(part);
    if (is_target()) kind_ = JsonPresence::scalar;
    next_element();
    return true;
  }

  std::span<const std::string> pointer_;
  std::vector<Level> levels_;  // the open containers that the pointer leads through, from the root on
  std::size_t depth_ = 0;      // of all open containers
  std::string name_;
  std::string value_;
  JsonPresence kind_ = JsonPresence::absent;
  bool ambiguous_ = false;
};

// Null if it is not JSON.
std::optional<Follower> followed(std::string_view document, std::span<const std::string> pointer) {
  json::parse_options options;
  options.max_depth = core::json::json_depth_max;
  json::basic_parser<Follower> parser(options, pointer);
  ErrorCode error;
  const std::size_t read = parser.write_some(false, document.data(), document.size(), error);
  if (error || read != document.size()) return std::nullopt;
  return std::move(parser.handler());
}

}  // namespace

std::expected<std::string, JsonMiss> json_scalar(std::string_view document, std::span<const std::string> pointer) {
  auto follower = followed(document, pointer);
  if (!follower) return std::unexpected(JsonMiss::not_json);
  return std::move(*follower).result();
}

JsonPresence json_presence(std::string_view document, std::span<const std::string> pointer) {
  const auto follower = followed(document, pointer);
  return follower ? follower->kind() : JsonPresence::unclear;
}

bool is_json(std::string_view document) {
  const std::array<std::string, 1> somewhere{};
  const auto nothing = json_scalar(document, somewhere);
  return nothing || nothing.error() != JsonMiss::not_json;
}

}  // namespace semel::policy
