// Writes the head of a message from its parts. Bytes that another program framed are never copied as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace semel::http {

// Appends to a buffer that the caller reuses. Framing fields are written here and nowhere else.
class HeadWriter {
 public:
  static HeadWriter response(std::string& out, std::uint16_t status);
  static HeadWriter request(std::string& out, std::string_view method, std::string_view target);

  // A field with a byte that could end its line early is left out, and sound() is false from then on.
  HeadWriter& field(std::string_view name, std::string_view value);
  HeadWriter& length(std::uint64_t bytes);
  HeadWriter& chunked();
  HeadWriter& close();
  HeadWriter& keep_alive();
  void end();

  [[nodiscard]] bool sound() const { return sound_; }

 private:
  explicit HeadWriter(std::string& out) : out_(&out) {}

  std::string* out_;
  bool sound_ = true;
};

// The frame of a chunk: this is written before its data, chunk_end after it.
void append_chunk_start(std::string& out, std::size_t size);
inline constexpr std::string_view chunk_end = "\r\n";
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace semel::http
