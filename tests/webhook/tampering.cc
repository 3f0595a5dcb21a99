// One kind of act per function.
#include "webhook/tampering.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "policy/expression.h"
#include "policy/form.h"
#include "webhook/coverage.h"
#include "webhook/provider.h"

namespace semel::test {
namespace {

using policy::Expression;
using policy::Part;
using policy::PartKind;
using webhook::SignatureScheme;

using Names = std::set<std::string>;

void add_headers(Names& names, const Expression& expression) {
  for (const Part& part : expression.parts) {
    if (part.kind == PartKind::header) names.insert(core::to_lower(part.text));
    if (part.kind == PartKind::headers) names.insert(core::to_lower(part.text) + "9");
  }
}

// Every header that the provider's file says anything about.
Names known_headers(const webhook::Provider& provider) {
  Names names{"content-type", "x-other"};
  const auto add = [&](const std::optional<Expression>& expression) {
    if (expression) add_headers(names, *expression);
  };
  for (const SignatureScheme& scheme : provider.schemes) {
    add(scheme.from);
    add(scheme.signed_text);
    add(scheme.timestamp);
  }
  for (const SignatureScheme& scheme : provider.schemes) {
    for (const Expression& id : ids_of(provider, scheme)) add(id);
  }
  add(provider.event.type);
  add(provider.event.object);
  add(provider.event.order);
  for (const webhook::Handshake& handshake : provider.handshakes) add(handshake.when);
  return names;
}

class Workshop {
 public:
  explicit Workshop(const Sent& request) : request_(request) {}

  void add(std::string what, Sent request, Names touched) {
    made.push_back({.what = std::move(what), .request = std::move(request), .touched = std::move(touched)});
  }

  void change_headers(const Names& known) {
    for (std::size_t i = 0; i < request_.fields.size(); ++i) {
      const std::string name = core::to_lower(request_.fields[i].first);
      Sent one = request_;
      one.fields.erase(one.fields.begin() + static_cast<std::ptrdiff_t>(i));
      add("without " + name, one, {name});
      one = request_;
      one.fields.push_back(one.fields[i]);
      add("twice " + name, one, {name});
      for (const std::string_view value :
           {"", "forged", "2099-01-01T00:00:00Z", "4070908800", "text/plain", "application/x-www-form-urlencoded"}) {
        one = request_;
        one.fields[i].second = value;
        add(name + " is now " + std::string(value), one, {name});
        one = request_;
        one.fields.emplace_back(name, value);
        add(name + " also " + std::string(value), one, {name});
      }
      for (const std::string& other : known) {
        if (other == name) continue;
        one = request_;
        one.fields[i].first = other;
        add(name + " renamed to " + other, one, {name, other});
      }
    }
  }

  void add_headers(const Names& known) {
    for (const std::string& name : known) {
      for (const std::string_view value : {"forged", "2099-01-01T00:00:00Z", "4070908800"}) {
        Sent one = request_;
        one.fields.emplace_back(name, value);
        add("with " + name + ": " + std::string(value), one, {name});
        one = request_;
        one.fields.emplace(one.fields.begin(), name, value);
        add("first " + name + ": " + std::string(value), one, {name});
      }
    }
  }

  void change_the_rest() {
    Sent one = request_;
    std::ranges::reverse(one.fields);
    add("headers reversed", one, {});
    for (const std::string_view method : {"PUT", "GET", "post"}) {
      one = request_;
      one.method = method;
      add("method " + std::string(method), one, {"{method}"});
    }
    for (const std::string_view more : {"&x=1", "&bodySHA256=00", "#x"}) {
      one = request_;
      one.target += more;
      add("query with " + std::string(more), one, {"{query}"});
    }
    one = request_;
    one.target.resize(std::min(one.target.find('?'), one.target.size()));
    add("no query", one, {"{query}"});
    one = request_;
    one.body.clear();
    add("no body", one, {"{body}"});
    for (const std::string_view end : {" ", "\n", "&x=1", "&"}) {
      one = request_;
      one.body += end;
      add("body with more at its end", one, {"{body}"});
    }
    one = request_;
    one.body.insert(0, " ");
    add("body after a space", one, {"{body}"});
  }

  // The parts of a form in other pieces: what is signed of it are names and values without anything between them.
  void cut_the_form_elsewhere() {
    const auto pairs = policy::form_pairs(request_.body);
    if (!pairs || pairs->size() < 2 || request_.body.find('%') == std::string::npos) return;
    std::string all;
    for (const auto& [name, value] : *pairs) all += name + value;
    Sent one = request_;
    for (const std::size_t at : {std::size_t{1}, std::size_t{12}, all.size() - 1}) {
      std::string value = all.substr(at);
      for (std::size_t plus = value.find('+'); plus != std::string::npos; plus = value.find('+', plus + 3)) {
        value.replace(plus, 1, "%2B");
      }
      one.body = all.substr(0, at) + "=" + value;
      add("one field, cut at " + std::to_string(at), one, {"{body}"});
    }
    one.body.clear();
    one.target += all;
    add("all fields in the query", one, {"{body}", "{query}"});
  }

  // Each group of headers that one scheme uses renamed to those of another.
  void rename_groups(const std::vector<SignatureScheme>& schemes) {
    const auto names = [](const SignatureScheme& scheme) {
      std::vector<std::string> all;
      for (const Expression& each : {scheme.from, scheme.timestamp.value_or(Expression{}), scheme.signed_text}) {
        for (const Part& part : each.parts) {
          if (part.kind == PartKind::header) all.push_back(core::to_lower(part.text));
        }
      }
      return all;
    };
    for (const SignatureScheme& from : schemes) {
      for (const SignatureScheme& to : schemes) {
        const auto before = names(from);
        const auto after = names(to);
        if (before == after || before.size() != after.size()) continue;
        Sent one = request_;
        for (auto& [name, value] : one.fields) {
          const auto found = std::ranges::find(before, core::to_lower(name));
          if (found != before.end()) name = after[static_cast<std::size_t>(found - before.begin())];
        }
        add("all of " + before.front() + " renamed to " + after.front(), one, Names(before.begin(), before.end()));
      }
    }
  }

  // A header that is signed before the time, stretched over it and over the body up to another time there.
  void stretch_over_the_time(const SignatureScheme& scheme) {
    const std::vector<Part>& parts = scheme.signed_text.parts;
    for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
      const bool in_a_row = parts[i].kind == PartKind::header && parts[i + 1].kind == PartKind::timestamp &&
                            parts[i + 2].kind == PartKind::body && scheme.timestamp->is_single(PartKind::header);
      if (!in_a_row) continue;
      const auto named = [&](std::string_view name) {
        return std::ranges::find_if(request_.fields,
                                    [&](const auto& field) { return core::equal_ignoring_case(field.first, name); });
      };
      const auto time = named(scheme.timestamp->parts.front().text);
      const auto header = named(parts[i].text);
      if (time == request_.fields.end() || header == request_.fields.end()) continue;
      const std::size_t at = request_.body.find(time->second);
      if (at == std::string::npos) continue;
      Sent one = request_;
      auto& value = one.fields[static_cast<std::size_t>(header - request_.fields.begin())].second;
      value += time->second + request_.body.substr(0, at);
      one.body.erase(0, at + time->second.size());
      add(header->first + " stretched to a time in the body", one, {"{body}"});
    }
  }

  void mix_with(const Sent& other) {
    for (std::size_t i = 0; i < request_.fields.size(); ++i) {
      for (const auto& [name, value] : other.fields) {
        if (!core::equal_ignoring_case(name, request_.fields[i].first)) continue;
        Sent one = request_;
        one.fields[i].second = value;
        add("the other's " + name, one, {core::to_lower(name)});
      }
    }
    Sent one = request_;
    one.body = other.body;
    add("the other's body", one, {"{body}"});
  }

  std::vector<Tampered> made;

 private:
  Sent request_;
};

// The values of a text that is signed with a separator between them, cut at other separators: the text is the same.
void shift_values(Workshop& shop, const Captured& captured, const SignatureScheme& scheme) {
  if (!scheme.per_item || captured.values.empty()) return;
  std::vector<std::string> pointers;
  std::string text;
  for (const Part& part : scheme.signed_text.parts) {
    if (part.kind != PartKind::json) continue;
    pointers.push_back(part.text);
    const auto found = captured.values.find(part.text);
    text += (pointers.size() == 1 ? "" : ":") + (found == captured.values.end() ? "" : found->second);
  }
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (pieces.size() != pointers.size() + 1) return;
  for (std::size_t doubled = 0; doubled < pointers.size(); ++doubled) {
    std::map<std::string, std::string> values = captured.values;
    std::size_t piece = 0;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      values[pointers[i]] = pieces[piece++];
      if (i == doubled) values[pointers[i]] += ":" + pieces[piece++];
    }
    const std::string& from = scheme.from.parts.front().text;
    constexpr std::string_view begin = "hmacSignature\":\"";
    const std::size_t at = captured.request.body.find(begin);
    if (at == std::string::npos) return;
    const std::string rest = captured.request.body.substr(at + begin.size());
    values[from] = rest.substr(0, rest.find('"'));
    Sent one = captured.request;
    one.body = json_body(values, captured.provider);
    shop.add("values shifted into number " + std::to_string(doubled), one, {"{body}"});
  }
}

// What is not signed of a JSON body that is signed in parts.
void change_unsigned_members(Workshop& shop, const Captured& captured) {
  for (const std::string_view text : {"\"other_", "2030-01-01", "2023-11-14"}) {
    const std::size_t at = captured.request.body.find(text);
    if (at == std::string::npos) continue;
    Sent one = captured.request;
    one.body.replace(at + 1, 4, "4444");
    shop.add("another " + std::string(text), one, {"{body}"});
  }
}

}  // namespace

std::vector<Tampered> tampered(const Captured& captured, const Captured& other) {
  Workshop shop(captured.request);
  const Names known = known_headers(captured.provider);
  shop.change_headers(known);
  shop.add_headers(known);
  shop.change_the_rest();
  shop.cut_the_form_elsewhere();
  shop.rename_groups(captured.provider.schemes);
  shop.mix_with(other.request);
  for (const SignatureScheme& scheme : captured.provider.schemes) {
    shop.stretch_over_the_time(scheme);
    shift_values(shop, captured, scheme);
  }
  change_unsigned_members(shop, captured);
  return std::move(shop.made);
}

}  // namespace semel::test
