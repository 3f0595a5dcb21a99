// Header fields: which may be written, which belong to one connection only, which are not replayed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <boost/container/small_vector.hpp>

#include "core/field_view.h"
#include "core/function_ref.h"

namespace semel::policy {

// Fields of ours: what the upstream decides with, and when a kept answer expires.
inline constexpr std::string_view outcome_field = "Semel-Outcome";
inline constexpr std::string_view expires_field = "Idempotency-Expires";

bool is_field_name(std::string_view name);  // a token, RFC 9110 §5.6.2

// No control characters but tabs inside, and no white space at the ends. Bytes above 0x7f pass, as RFC 9110 lets them.
bool is_field_value(std::string_view value);

// Fields that end at this hop (RFC 9110 §7.6.1) and those that frame the message: the next message gets its own.
bool is_hop_by_hop(std::string_view name);
bool is_framing(std::string_view name);

// Not replayed unless the route lists them: Set-Cookie, Date and the authentication fields. They speak to one caller at
// one moment.
bool is_personal(std::string_view name);

// The names in the Connection fields, which end at this hop too.
using ConnectionNames = boost::container::small_vector<std::string_view, 4>;
ConnectionNames named_by_connection(std::span<const FieldView> fields);

bool contains_name(std::span<const std::string_view> names, std::string_view name);
bool contains_name(std::span<const std::string> names, std::string_view name);

// Where fields are written to, one by one.
using FieldSink = core::FunctionRef<void(std::string_view name, std::string_view value)>;

}  // namespace semel::policy
