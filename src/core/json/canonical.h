// One spelling for every way of writing the same JSON document.
//
// Member order, white space and string escapes do not matter; numbers are exact decimals, never a double. A document on
// whose meaning conforming parsers may disagree has no canonical form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/fingerprint.h>

namespace semel::core::json {

inline constexpr int json_depth_max = 64;

// The canonical form. Null for what is not JSON, duplicate names, invalid UTF-8, lone surrogates, a byte order mark,
// depth over 64, an exponent out of bounds, anything after the document, or more than 1 GiB. The form is JSON itself,
// and its own canonical form. What `ignore` points to is left out: members of objects by name, elements of arrays by
// index, which always counts the elements as they were sent. It must be valid all the same: a duplicate name inside an
// ignored member leaves the document without a canonical form. Constant stack; time linear in the body but for sorting
// the members of an object.
std::optional<std::string> canonical_json(std::string_view body, const IgnoreList& ignore = {});

}  // namespace semel::core::json
