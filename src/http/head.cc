#include "http/head.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include <boost/beast/core/string.hpp>

#include "core/field_view.h"

namespace semel::http {
namespace {

constexpr std::size_t bytes_usual = 768;
constexpr std::size_t fields_usual = 16;

}  // namespace

Head::Head() {
  bytes_.reserve(bytes_usual);
  places_.reserve(fields_usual);
  fields_.reserve(fields_usual);
}

void Head::clear() {
  bytes_.clear();
  places_.clear();
  fields_.clear();
  method_ = target_ = {};
  method_size_ = target_size_ = 0;
  status_ = 0;
  version_ = 11;
  keep_alive_ = true;
  framing_ = Framing::none;
  length_ = 0;
}

void Head::set_request(std::string_view method, std::string_view target) {
  bytes_.append(method);
  bytes_.append(target);
  method_size_ = method.size();
  target_size_ = target.size();
}

void Head::set_framing(Framing framing, std::uint64_t length) {
  framing_ = framing;
  length_ = length;
}

void Head::add(std::string_view name, std::string_view value) {
  places_.push_back({.name_at = bytes_.size(), .name_size = name.size(), .value_size = value.size()});
  bytes_.append(name);
  bytes_.append(value);
}

void Head::seal() {
  const std::string_view bytes = bytes_;
  method_ = bytes.substr(0, method_size_);
  target_ = bytes.substr(method_size_, target_size_);
  for (const Place& place : places_) {
    fields_.push_back({.name = bytes.substr(place.name_at, place.name_size),
                       .value = bytes.substr(place.name_at + place.name_size, place.value_size)});
  }
}

std::optional<std::string_view> Head::find(std::string_view name) const {
  for (const FieldView& field : fields_) {
    if (boost::beast::iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

}  // namespace semel::http
