// The head of a message, split into its parts. The parts are views into one buffer, which the next head reuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/field_view.h"

namespace semel::http {

// How the end of the body is known.
enum class Framing : std::uint8_t { none, length, chunked, until_close };

class Head {
 public:
  Head();
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;
  void clear();
  void set_request(std::string_view method, std::string_view target);
  void set_status(std::uint16_t status) { status_ = status; }
  void set_framing(Framing framing, std::uint64_t length);
  void set_version(unsigned version) { version_ = version; }
  void set_keep_alive(bool keep_alive) { keep_alive_ = keep_alive; }
  // After the last add(), views into the head stay valid until clear().
  void add(std::string_view name, std::string_view value);

  [[nodiscard]] std::string_view method() const { return method_; }
  [[nodiscard]] std::string_view target() const { return target_; }
  [[nodiscard]] std::uint16_t status() const { return status_; }
  [[nodiscard]] unsigned version() const { return version_; }  // 10 or 11
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }
  [[nodiscard]] Framing framing() const { return framing_; }
  [[nodiscard]] std::uint64_t length() const { return length_; }
  [[nodiscard]] std::span<const FieldView> fields() const { return fields_; }
  // Returns the value of the first line with this name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;

 private:
  void make_room(std::size_t size);
  // Returns both, as they lie in the buffer now.
  std::pair<std::string_view, std::string_view> append(std::string_view first, std::string_view second);

  std::string bytes_;
  std::vector<FieldView> fields_;
  std::string_view method_;
  std::string_view target_;
  std::uint16_t status_ = 0;
  unsigned version_ = 11;
  bool keep_alive_ = true;
  Framing framing_ = Framing::none;
  std::uint64_t length_ = 0;
};

}  // namespace semel::http
