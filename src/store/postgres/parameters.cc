// What goes over the wire, both ways.
#include "store/postgres/parameters.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <postgres_ext.h>

#include "store/postgres/connection.h"
#include "store/postgres/sql.h"

namespace semel::store::postgres {
namespace {

constexpr Oid type_int4 = 23;
constexpr Oid type_int8 = 20;
constexpr Oid type_text = 25;
constexpr Oid type_boolean = 16;
constexpr Oid type_bytea = 17;
constexpr Oid type_timestamptz = 1184;

// Everything is big-endian on the wire.
template <class Number>
void append(std::string& bytes, Number number) {
  for (std::size_t shift = 8 * sizeof(Number); shift > 0; shift -= 8) {
    bytes.push_back(static_cast<char>((static_cast<std::uint64_t>(number) >> (shift - 8)) & 0xffU));
  }
}

template <class Number>
std::string in_bytes(Number number) {
  std::string bytes;
  append(bytes, number);
  return bytes;
}

constexpr std::size_t header_bytes = 20;

}  // namespace

Array::Array(Element element, std::size_t rows) : element_(element) {
  bytes_.reserve(header_bytes + (rows * 36));
}

void Array::add(std::string_view bytes) {
  ++rows_;
  append(bytes_, static_cast<std::uint32_t>(bytes.size()));
  bytes_.append(bytes);
}

void Array::add(std::span<const std::uint8_t> bytes) {
  add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void Array::add(std::int64_t number) {
  ++rows_;
  append(bytes_, static_cast<std::uint32_t>(sizeof(number)));
  append(bytes_, number);
}

void Array::add_flag(std::uint8_t flag) {
  ++rows_;
  append(bytes_, std::uint32_t{1});
  bytes_.push_back(static_cast<char>(flag));
}

void Array::add_null() {
  ++rows_;
  nulls_ = true;
  append(bytes_, std::uint32_t{0xffffffff});
}

Oid Array::type() const {
  switch (element_) {
    case Element::boolean:
      return 1000;
    case Element::bytea:
      return 1001;
    case Element::int8:
      return 1016;
    case Element::text:
      return 1009;
  }
  return 0;
}

std::string Array::take() {
  std::string whole;
  whole.reserve(header_bytes + bytes_.size());
  append(whole, std::uint32_t{1});  // dimensions
  append(whole, std::uint32_t{nulls_ ? 1U : 0U});
  append(whole, static_cast<std::uint32_t>(element_));
  append(whole, rows_);
  append(whole, std::uint32_t{1});  // the first index
  whole.append(bytes_);
  return whole;
}

void Parameters::add(std::int32_t number) {
  types_.push_back(type_int4);
  values_.emplace_back(in_bytes(number));
}

void Parameters::add(std::int64_t number) {
  types_.push_back(type_int8);
  values_.emplace_back(in_bytes(number));
}

void Parameters::add_number(std::optional<std::int64_t> number) {
  types_.push_back(type_int8);
  values_.emplace_back(number ? std::optional(in_bytes(*number)) : std::nullopt);
}

void Parameters::add(std::string text) {
  types_.push_back(type_text);
  values_.emplace_back(std::move(text));
}

void Parameters::add_bytes(std::string bytes) {
  types_.push_back(type_bytea);
  values_.emplace_back(std::move(bytes));
}

void Parameters::add_flag(std::uint8_t flag) {
  types_.push_back(type_boolean);
  values_.emplace_back(std::string(1, static_cast<char>(flag)));
}

void Parameters::add_null_text() {
  types_.push_back(type_text);
  values_.emplace_back(std::nullopt);
}

void Parameters::add_null_bytes() {
  types_.push_back(type_bytea);
  values_.emplace_back(std::nullopt);
}

void Parameters::add_time(std::int64_t micros) {
  types_.push_back(type_timestamptz);
  values_.emplace_back(in_bytes(micros));
}

void Parameters::add(Array array) {
  types_.push_back(array.type());
  values_.emplace_back(array.take());
}

bool Parameters::send(const Link& link, const Sql& sql) const {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(values_.size(), 1);
  for (const std::optional<std::string>& value : values_) {
    values.push_back(value ? value->data() : nullptr);
    lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  PGconn* const connection = link.connection.get();
  const auto count = static_cast<int>(values.size());
  const int sent =
      link.calling == Calling::prepared
          ? PQsendQueryPrepared(connection, sql.name, count, values.data(), lengths.data(), formats.data(), 1)
          : PQsendQueryParams(connection, sql.text, count, types_.data(), values.data(), lengths.data(), formats.data(),
                              1);
  return sent != 0;
}

std::int64_t number_of(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = (number << 8U) | static_cast<std::uint8_t>(byte);
  return static_cast<std::int64_t>(number);
}

std::string_view value_of(const PGresult* result, int row, int column) {
  return {PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column))};
}

}  // namespace semel::store::postgres
