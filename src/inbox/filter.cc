// A parser by descent; each rule of the grammar in filter.h is one function.
#include "inbox/filter.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "inbox/event_view.h"
#include "reading/fault.h"

namespace semel::inbox {

class EventFilter::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  reading::Parsed<EventFilter> run() {
    reading::Parsed<std::size_t> root = alternatives(0);
    if (!root) return std::unexpected(std::move(root).error());
    skip();
    if (at_ != text_.size()) return wrong("this does not belong here; join two tests with `and` or `or`");
    EventFilter filter;
    filter.text_ = std::string(text_);
    filter.nodes_ = std::move(nodes_);
    filter.root_ = *root;
    return filter;
  }

 private:
  using Place = reading::Parsed<std::size_t>;  // of a node

  [[nodiscard]] std::unexpected<reading::Fault> wrong(std::string_view what) const {
    return reading::fault(std::string(what), {}, at_);
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word)) return false;
    if (rest.size() > word.size() && core::is_letter(rest[word.size()])) return false;
    at_ += word.size();
    return true;
  }

  std::size_t add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  Place alternatives(std::size_t depth) {
    Place left = conjunction(depth);
    while (left && take_word("or")) {
      const Place right = conjunction(depth);
      if (!right) return right;
      left = add({.kind = Kind::either, .left = *left, .right = *right});
    }
    return left;
  }

  Place conjunction(std::size_t depth) {
    Place left = term(depth);
    while (left && take_word("and")) {
      const Place right = term(depth);
      if (!right) return right;
      left = add({.kind = Kind::both, .left = *left, .right = *right});
    }
    return left;
  }

  Place term(std::size_t depth) {
    if (depth >= depth_max) return wrong("too many parentheses and `not` inside each other");
    if (take_word("not")) {
      const Place inner = term(depth + 1);
      if (!inner) return inner;
      return add({.kind = Kind::negated, .left = *inner});
    }
    if (take("(")) {
      Place inner = alternatives(depth + 1);
      if (inner && !take(")")) return wrong("a parenthesis is not closed");
      return inner;
    }
    return test();
  }

  Place test() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '{') return wrong("a part in braces is needed here, such as {type}");
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return wrong("a brace is not closed");
    reading::Parsed<EventPart> part = parse_event_part(text_.substr(at_, end + 1 - at_));
    if (!part) return wrong(part.error().message);
    at_ = end + 1;
    Node node;
    node.part = *std::move(part);
    if (take_word("exists")) return add(std::move(node));
    if (take_word("in")) return listed(std::move(node));
    if (take("!=")) {
      node.kind = Kind::unequal;
    } else if (take("^=")) {
      node.kind = Kind::begins;
    } else if (take("=")) {
      node.kind = Kind::equal;
    } else {
      return wrong("one of = != ^= in exists is needed here");
    }
    return with_value(std::move(node));
  }

  Place with_value(Node node) {
    reading::Parsed<std::string> value = quoted();
    if (!value) return std::unexpected(std::move(value).error());
    node.values.push_back(*std::move(value));
    return add(std::move(node));
  }

  Place listed(Node node) {
    node.kind = Kind::one_of;
    if (!take("[")) return wrong("a list is needed here, such as ['a', 'b']");
    do {
      reading::Parsed<std::string> value = quoted();
      if (!value) return std::unexpected(std::move(value).error());
      node.values.push_back(*std::move(value));
    } while (take(","));
    if (!take("]")) return wrong("the list is not closed");
    return add(std::move(node));
  }

  reading::Parsed<std::string> quoted() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '\'') return wrong("a text in single quotes is needed here");
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return wrong("a quote is not closed");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
};

reading::Parsed<EventFilter> EventFilter::parse(std::string_view text) {
  if (text.size() > text_bytes_max) return reading::fault("is over 4096 bytes long");
  return Parser(text).run();
}

bool EventFilter::holds(std::size_t at, const EventView& event) const {
  const Node& node = nodes_[at];
  if (node.kind == Kind::both) return holds(node.left, event) && holds(node.right, event);
  if (node.kind == Kind::either) return holds(node.left, event) || holds(node.right, event);
  if (node.kind == Kind::negated) return !holds(node.left, event);
  return compares(node, event);
}

bool EventFilter::compares(const Node& node, const EventView& event) {
  const std::optional<std::string> value = node.part.value_in(event);
  if (node.kind == Kind::unequal) return !value || *value != node.values.front();
  if (!value) return false;
  if (node.kind == Kind::equal) return *value == node.values.front();
  if (node.kind == Kind::begins) return value->starts_with(node.values.front());
  if (node.kind == Kind::one_of) return std::ranges::find(node.values, *value) != node.values.end();
  return true;
}

}  // namespace semel::inbox
