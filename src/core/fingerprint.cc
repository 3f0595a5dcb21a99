#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "core/utf8.h"
#include <semel/fingerprint.h>
#include <semel/result.h>

namespace semel {
namespace {

// A reference token as RFC 6901 §4 reads it: `~1` is `/`, `~0` is `~`, and there is no other tilde.
std::optional<std::string> unescaped(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      text.push_back(token[i]);
      continue;
    }
    ++i;
    if (i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    text.push_back(token[i] == '0' ? '~' : '/');
  }
  return text;
}

Result<std::vector<std::string>> path_of(std::string_view pointer) {
  const auto refuse = [&](std::string_view what) {
    return fail(Code::invalid, std::string("The JSON pointer `").append(pointer).append("` ").append(what));
  };
  if (pointer.empty()) return fail(Code::invalid, "The JSON pointer \"\" would ignore the whole body.");
  if (pointer.front() != '/') return refuse("does not begin with `/`; write /name or /outer/inner.");
  if (!core::is_utf8(pointer)) return fail(Code::invalid, "A JSON pointer is not UTF-8, so it can match nothing.");
  std::vector<std::string> path;
  for (std::string_view rest = pointer; !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view token = rest.substr(0, rest.find('/'));
    std::optional<std::string> text = unescaped(token);
    if (!text) return refuse("has a `~` that is neither `~0` (for `~`) nor `~1` (for `/`).");
    path.push_back(*std::move(text));
    rest.remove_prefix(token.size());
  }
  return path;
}

}  // namespace

Result<IgnoreList> IgnoreList::parse(const std::vector<std::string>& pointers) {
  IgnoreList list;
  for (const std::string& pointer : pointers) {
    Result<std::vector<std::string>> path = path_of(pointer);
    if (!path) return std::unexpected(std::move(path.error()));
    list.paths_.push_back(*std::move(path));
  }
  return list;
}

Fingerprint fingerprint(const Request& request, BodyForm form, const IgnoreList& ignore) {
  return core::print(request, form, ignore).fingerprint;
}

}  // namespace semel
