// The parameters of one statement in PostgreSQL's binary form: scalars, and arrays that are filled row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>
#include <postgres_ext.h>

#include "store/postgres/connection.h"
#include "store/postgres/sql.h"

namespace semel::store::postgres {

// The types that are used; the values are fixed by PostgreSQL's catalogue.
enum class Element : std::uint8_t { boolean = 16, bytea = 17, int8 = 20, text = 25 };

class Array {
 public:
  Array(Element element, std::size_t rows);

  void add(std::string_view bytes);
  void add(std::span<const std::uint8_t> bytes);
  void add(std::int64_t number);
  void add_unsigned(std::uint64_t number) { add(static_cast<std::int64_t>(number)); }  // kept bit by bit
  void add_flag(std::uint8_t flag);
  void add_null();

  [[nodiscard]] Oid type() const;
  // Of the array as a whole; nothing may be added afterwards.
  std::string take();

 private:
  Element element_;
  bool nulls_ = false;
  std::uint32_t rows_ = 0;
  std::string bytes_;
};

// In the order of their numbers.
class Parameters {
 public:
  void add(std::int32_t number);
  void add(std::int64_t number);
  void add_number(std::optional<std::int64_t> number);
  void add(std::string text);
  void add_bytes(std::string bytes);
  void add_flag(std::uint8_t flag);
  void add_null_text();
  void add_null_bytes();
  void add_time(std::int64_t micros);  // a timestamptz, as value_of() gives it
  void add(Array array);

  // Queues the statement on a connection in pipeline mode; results come in binary form. False: the connection is lost.
  [[nodiscard]] bool send(const Link& link, const Sql& sql) const;

 private:
  std::vector<Oid> types_;
  std::vector<std::optional<std::string>> values_;
};

// Reading a result. NULL reads as an empty value.
std::string_view value_of(const PGresult* result, int row, int column);
std::int64_t number_of(std::string_view bytes);  // of a bigint

}  // namespace semel::store::postgres
