#include "http/http1_reply.h"

#include <cstdint>
#include <string_view>

#include "http/connection.h"
#include "http/deadline.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/writer.h"

namespace semel::http {
namespace {

constexpr std::uint16_t switching_protocols = 101;

}  // namespace

bool Http1Reply::has_no_body(std::uint16_t status) const {
  return head_.method() == "HEAD" || status == 204 || status == 304;
}

// HTTP/1.0 closes unless told otherwise.
void Http1Reply::end_head(HeadWriter& head) const {
  if (close_wanted()) {
    head.close();
  } else if (head_.version() < 11) {
    head.keep_alive();
  }
  head.end();
}

Attempted<void> Http1Reply::send(std::uint16_t status, WriteFields fields, std::string_view body) {
  status_ = status;
  deadline_.send_whole_reply();
  out_.clear();
  HeadWriter head = HeadWriter::response(out_, status);
  fields(head);
  if (status != 204 && status != 304) head.length(body.size());
  end_head(head);
  if (has_no_body(status)) body = {};
  if (body.size() > joined_bytes_max) return connection_.write(out_, body);
  out_.append(body);
  return connection_.write(out_);
}

Attempted<void> Http1Reply::start(std::uint16_t status, WriteFields fields, Form form, std::string_view first) {
  status_ = status;
  bodiless_ = has_no_body(status);
  out_.clear();
  HeadWriter head = HeadWriter::response(out_, status);
  fields(head);
  if (form.framing == Framing::length && status != 204) {
    head.length(form.length);
  } else if (!bodiless_ && form.framing != Framing::none && head_.version() >= 11) {
    chunked_ = true;
    head.chunked();
  } else if (!bodiless_ && form.framing != Framing::none) {
    close_ = true;
  } else if (form.framing == Framing::none && !bodiless_) {
    head.length(0);
  }
  end_head(head);
  return write_piece(first);
}

Attempted<void> Http1Reply::go_on(std::string_view data) {
  out_.clear();
  return write_piece(data);
}

// A head that is in out_ goes with it.
Attempted<void> Http1Reply::write_piece(std::string_view data) {
  deadline_.send_piece(out_.size() + data.size());
  if (bodiless_) data = {};
  if (!chunked_ || data.empty()) return connection_.write(out_, data);
  append_chunk_start(out_, data.size());
  return connection_.write(out_, data, chunk_end);
}

Attempted<void> Http1Reply::end() {
  const std::string_view end = chunked_ ? last_chunk : std::string_view();
  deadline_.send_piece(end.size());
  return connection_.write(end);
}

Attempted<void> Http1Reply::switch_protocol(std::string_view protocol, WriteFields fields) {
  status_ = switching_protocols;
  close_ = true;
  deadline_.send_whole_reply();
  out_.clear();
  HeadWriter head = HeadWriter::response(out_, switching_protocols);
  fields(head);
  head.field("Connection", "Upgrade").field("Upgrade", protocol);
  head.end();
  return connection_.write(out_);
}

}  // namespace semel::http
