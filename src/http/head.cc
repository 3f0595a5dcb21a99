#include "http/head.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/beast/core/string.hpp>

#include "core/append.h"
#include "core/field_view.h"

namespace semel::http {
namespace {

constexpr std::size_t bytes_usual = 768;
constexpr std::size_t bytes_kept_max = 8'192;  // for the next head; an idle connection does not hold on to a large one
constexpr std::size_t fields_usual = 16;

}  // namespace

Head::Head() {
  bytes_.reserve(bytes_usual);
  fields_.reserve(fields_usual);
}

void Head::clear() {
  if (bytes_.capacity() > bytes_kept_max) {
    std::string().swap(bytes_);
    bytes_.reserve(bytes_usual);
  }
  bytes_.clear();
  fields_.clear();
  method_ = target_ = {};
  status_ = 0;
  version_ = 11;
  keep_alive_ = true;
  framing_ = Framing::none;
  length_ = 0;
}

// The views are moved with the bytes.
void Head::make_room(std::size_t size) {
  if (bytes_.capacity() - bytes_.size() >= size) return;
  std::string grown;
  grown.reserve(std::max(bytes_.size() + size, bytes_.capacity() * 2));
  grown.append(bytes_);
  const auto moved = [&](std::string_view view) {
    const std::ptrdiff_t at = view.empty() ? 0 : view.data() - bytes_.data();
    return std::string_view(grown.data() + at, view.size());
  };
  method_ = moved(method_);
  target_ = moved(target_);
  for (FieldView& field : fields_) field = {.name = moved(field.name), .value = moved(field.value)};
  bytes_ = std::move(grown);
}

std::pair<std::string_view, std::string_view> Head::append(std::string_view first, std::string_view second) {
  make_room(first.size() + second.size());
  const std::size_t at = bytes_.size();
  core::append_all(bytes_, first, second);
  const std::string_view both = std::string_view(bytes_).substr(at);
  return {both.substr(0, first.size()), both.substr(first.size())};
}

void Head::set_request(std::string_view method, std::string_view target) {
  std::tie(method_, target_) = append(method, target);
}

void Head::set_framing(Framing framing, std::uint64_t length) {
  framing_ = framing;
  length_ = length;
}

void Head::add(std::string_view name, std::string_view value) {
  const auto [own_name, own_value] = append(name, value);
  fields_.push_back({.name = own_name, .value = own_value});
}

std::optional<std::string_view> Head::find(std::string_view name) const {
  for (const FieldView& field : fields_) {
    if (boost::beast::iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

}  // namespace semel::http
