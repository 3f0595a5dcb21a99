// One kind of act per function.
#include "webhook/respelling.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "policy/expression.h"
#include "support/rules.h"
#include "webhook/captured.h"
#include "webhook/coverage.h"
#include "webhook/provider.h"
#include "webhook/tampering.h"

namespace semel::test {
namespace {

using policy::Expression;
using policy::PartKind;

// Every name of a query that the provider's file says anything about.
std::set<std::string> known_queries(const webhook::Provider& provider) {
  std::set<std::string> names{"x"};
  const auto add = [&](const std::optional<Expression>& expression) {
    if (!expression) return;
    for (const policy::Part& part : expression->parts) {
      if (part.kind == PartKind::query) names.insert(part.text);
    }
  };
  for (const webhook::SignatureScheme& scheme : provider.schemes) {
    add(scheme.from);
    add(scheme.signed_text);
    add(scheme.timestamp);
    add(scheme.body_hash);
    for (const Expression& id : ids_of(provider, scheme)) add(id);
  }
  add(provider.event.type);
  add(provider.event.object);
  add(provider.event.order);
  for (const webhook::Handshake& handshake : provider.handshakes) add(handshake.when);
  return names;
}

std::vector<std::string> pieces_of(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : "&") + piece;
  return text;
}

std::string in_capitals(std::string name) {
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

class Desk {
 public:
  explicit Desk(const Captured& captured) : captured_(captured), request_(captured.request) {}

  void move_headers() {
    for (std::size_t i = 0; i < request_.fields.size(); ++i) {
      const std::string name = core::to_lower(request_.fields[i].first);
      const auto at = static_cast<std::ptrdiff_t>(i);
      Sent one = request_;
      std::rotate(one.fields.begin(), one.fields.begin() + at, one.fields.begin() + at + 1);
      add(name + " first", one, {});
      one = request_;
      std::rotate(one.fields.begin() + at, one.fields.begin() + at + 1, one.fields.end());
      add(name + " last", one, {});
      for (const std::string& other : {in_capitals(name), name + " ", "x-" + name, std::string("renamed")}) {
        one = request_;
        one.fields[i].first = other;
        add(fmt::format("{} written as {}", name, other), one, {name});
      }
      for (const std::string_view value : {"forged", ""}) {
        one = request_;
        one.fields.emplace(one.fields.begin(), name, value);
        add("before " + name + " another", one, {name});
      }
      one = request_;
      one.fields[i].second = " " + one.fields[i].second + ",forged";
      add(name + " as a list", one, {name});
    }
  }

  void change_methods() {
    for (const std::string_view method : {"HEAD", "OPTIONS", "PATCH", "DELETE", "QUERY", "POST "}) {
      Sent one = request_;
      one.method = method;
      add("method " + std::string(method), one, {"{method}"});
    }
  }

  void change_queries() {
    const std::size_t mark = std::min(request_.target.find('?'), request_.target.size());
    const std::string path = request_.target.substr(0, mark);
    const std::string query = request_.target.substr(std::min(mark + 1, request_.target.size()));
    const auto ask = [&](std::string what, const std::string& other) {
      Sent one = request_;
      one.target = path + "?" + other;
      add(std::move(what), one, {"{query}"});
    };
    const std::vector<std::string> pairs = pieces_of(query, '&');
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      std::vector<std::string> other = pairs;
      other.push_back(pairs[i]);
      ask("twice in the query: " + pairs[i], joined(other));
      other = pairs;
      other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
      ask("not in the query: " + pairs[i], joined(other));
      other = pairs;
      other[i] = "renamed" + other[i];
      ask("renamed in the query: " + pairs[i], joined(other));
    }
    ask("the query backwards", joined({pairs.rbegin(), pairs.rend()}));
    for (const std::string& name : known_queries(captured_.provider)) {
      for (const std::string_view value : {"forged", "", "%00", "4070908800"}) {
        ask("query ends with " + name, fmt::format("{}&{}={}", query, name, value));
        ask("query begins with " + name, fmt::format("{}={}&{}", name, value, query));
      }
    }
  }

  void change_content_types() {
    for (const std::string_view type :
         {"application/json", "application/json; charset=utf-16", "application/x-www-form-urlencoded; charset=utf-7",
          "multipart/form-data; boundary=x", "multipart/form-data", "application/cloudevents+json",
          "application/cloudevents-batch+json", "application/octet-stream", "text/xml", "application/JSON;;"}) {
      Sent one = request_;
      std::erase_if(one.fields, [](const auto& each) { return core::equal_ignoring_case(each.first, "Content-Type"); });
      one.fields.emplace_back("Content-Type", type);
      add("content type " + std::string(type), one, {"content-type"});
    }
    for (const std::string_view coding : {"gzip", "identity", "br, gzip"}) {
      Sent one = request_;
      one.fields.emplace_back("Content-Encoding", coding);
      add("content coding " + std::string(coding), one, {"content-encoding"});
    }
  }

  // Two programs can read a document with two members of one name differently, and take spellings of one name for two.
  void repeat_members() {
    for (const auto& [pointer, value] : captured_.values) {
      const std::string name = pointer.substr(pointer.rfind('/') + 1);
      const std::string written = "\"" + name + "\":";
      const std::size_t at = request_.body.find(written);
      if (at == std::string::npos) continue;
      const auto insert = [&](std::string what, std::size_t where, const std::string& text) {
        Sent one = request_;
        one.body.insert(where, text);
        add(std::move(what) + " " + pointer, one, {"{body}"});
      };
      insert("before", at, written + "\"forged\",");
      insert("a null before", at, written + "null,");
      insert("an object before", at, written + "{},");
      const std::size_t end = request_.body.find(value + "\"", at);
      if (end != std::string::npos) insert("behind", end + value.size() + 1, "," + written + "\"forged\"");
      Sent one = request_;
      one.body.replace(at, 2, std::string("\"\\u00") + hex(name.front()));
      add("in other letters " + pointer, one, {"{body}"});
      one.body.insert(at, written + "\"forged\",");
      add("in both letters " + pointer, one, {"{body}"});
      one = request_;
      one.body[at + 1] = static_cast<char>(one.body[at + 1] ^ 0x20);
      add("in the other case " + pointer, one, {"{body}"});
    }
  }

  void repeat_the_document() {
    const std::string& body = request_.body;
    for (const std::string& other :
         {body + body, "\xef\xbb\xbf" + body, "[" + body + "]", std::string(body).append(1, '\0').append(body),
          "{\"x\":" + body + "}", std::string(1, '\0') + body}) {
      Sent one = request_;
      one.body = other;
      add("the document again, or in another", one, {"{body}"});
    }
    const std::size_t open = body.find('[');
    const std::size_t close = body.rfind(']');
    if (!captured_.provider.event.items || open == std::string::npos || close == std::string::npos) return;
    const std::string element = body.substr(open + 1, close - open - 1);
    for (const std::string& elements :
         {fmt::format("{0},{0}", element), element + ",{}", "{}," + element, std::string()}) {
      Sent one = request_;
      one.body.replace(open + 1, close - open - 1, elements);
      add("other elements", one, {"{body}"});
    }
    if (!captured_.provider.event.items->empty()) {
      Sent one = request_;
      one.body.insert(1, "\"" + captured_.provider.event.items->front() + "\":[{}],");
      add("another list before", one, {"{body}"});
    }
  }

  std::vector<Tampered> made;

 private:
  static std::string hex(char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {digits[byte >> 4U], digits[byte & 15U]};
  }

  void add(std::string what, Sent request, std::set<std::string> touched) {
    made.push_back({.what = std::move(what), .request = std::move(request), .touched = std::move(touched)});
  }

  const Captured& captured_;
  Sent request_;
};

}  // namespace

std::vector<Tampered> respelled(const Captured& captured) {
  Desk desk(captured);
  desk.move_headers();
  desk.change_methods();
  desk.change_queries();
  desk.change_content_types();
  desk.repeat_members();
  desk.repeat_the_document();
  return std::move(desk.made);
}

}  // namespace semel::test
