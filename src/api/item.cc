// Each member is read by itself; the first that is wrong is named.
#include "api/item.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "api/access.h"
#include "api/result.h"
#include "api/trouble.h"
#include "config/config.h"
#include "core/ascii.h"
#include "core/encoding.h"
#include "core/json/view.h"
#include "core/sha256.h"
#include "core/stamp.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/store.h>

namespace semel::api {
namespace {

using core::json::JsonView;

constexpr std::size_t owner_bytes_min = 16;
constexpr std::size_t owner_bytes_max = 64;
constexpr std::size_t scope_bytes_max = 4'096;
constexpr std::size_t object_bytes_max = 255;
constexpr char composed_mark = '\x01';

// Reads the members of one item, in the order in which they are refused.
class ItemReader {
 public:
  ItemReader(const Members& members, const config::ApiToken& token) : members_(members), token_(token) {}

  Checked name() {
    const auto space = text(ItemMember::space, 1, space_bytes_max);
    if (!space) return std::unexpected(space.error());
    if (!reaches(token_, *space)) {
      return std::unexpected(
          not_allowed(members_.pointer_to(ItemMember::space), "The token does not reach this namespace."));
    }
    if (const Checked read = read_scope(); !read) return read;
    const auto key = text(ItemMember::key, 1, key_text_bytes_max);
    if (!key) return std::unexpected(key.error());
    auto made = make_key(*space, scope_, *key);
    if (!made) return std::unexpected(wrong(ItemMember::key, made.error().detail));
    item.key = *std::move(made);
    key_ = *key;
    return {};
  }

  Checked claim() {
    const auto owner = text(ItemMember::owner, owner_bytes_min, owner_bytes_max);
    if (!owner) return std::unexpected(owner.error());
    const Digest digest = core::sha256_parts("semel api owner v1", {item.key.space, scope_, key_, *owner});
    for (std::size_t i = 0; i < sizeof(item.terms.owner); ++i) item.terms.owner = (item.terms.owner << 8U) | digest[i];
    if (const Checked read = lease(); !read) return read;
    item.terms.ttl = std::min(item.terms.ttl, token_.ttl_max);
    if (const Checked read = span(ItemMember::ttl_ms, item.terms.ttl, token_.ttl_max); !read) return read;
    if (const JsonView* const value = members_.find(ItemMember::wait_ms)) {
      const std::optional<std::int64_t> wait = value->whole();
      if (!wait || *wait < 0 || *wait > wait_max.count()) {
        return std::unexpected(wrong(ItemMember::wait_ms, "wait_ms is a whole number from 0 to 30000."));
      }
      item.wait = Millis{*wait};
    }
    if (const JsonView* const value = members_.find(ItemMember::on_unknown)) {
      if (value->raw() == "\"retry\"") {
        item.on_unknown = Policy::OnUnknown::retry;
        item.terms.lapsed = Terms::Lapsed::taken_over;
      } else if (value->raw() != "\"hold\"") {
        return std::unexpected(wrong(ItemMember::on_unknown, "on_unknown is \"hold\" or \"retry\"."));
      }
    }
    if (const Checked read = fingerprint(); !read) return read;
    if (!item.fingerprint) item.fingerprint = Fingerprint{core::sha256("semel api without a fingerprint v1")};
    return order();
  }

  Checked lease() {
    item.terms.lease = std::min(item.terms.lease, token_.lease_max);
    return span(ItemMember::lease_ms, item.terms.lease, token_.lease_max);
  }

  Checked fence() {
    const auto written = text(ItemMember::fence, 1, 64);
    if (!written) return std::unexpected(written.error());
    const std::optional<NamedFence> fence = parse_fence(*written);
    if (!fence) return std::unexpected(wrong(ItemMember::fence, "fence is the text that the claim was answered with."));
    item.fence = fence->fence;
    item.key.home = fence->home;
    return {};
  }

  Checked result(const ResultRules& rules) {
    const JsonView* const value = members_.find(ItemMember::result);
    if (const JsonView* const outcome = members_.find(ItemMember::outcome)) {
      if (outcome->raw() != "\"unknown\"") {
        return std::unexpected(
            wrong(ItemMember::outcome, "outcome is \"unknown\"; any other end has a result, or none."));
      }
      if (value != nullptr) return std::unexpected(wrong(ItemMember::result, "An unknown outcome has no result."));
      return {};
    }
    item.response = empty_result();
    if (value == nullptr) return {};
    auto read = read_result(*value, members_.pointer_to(ItemMember::result), rules);
    if (!read) return std::unexpected(std::move(read.error()));
    item.response = *std::move(read);
    return {};
  }

  Checked fingerprint() {
    const JsonView* const payload = members_.find(ItemMember::payload);
    const JsonView* const given = members_.find(ItemMember::fingerprint);
    if (payload != nullptr && given != nullptr) {
      return std::unexpected(wrong(ItemMember::fingerprint, "An item has payload or fingerprint, not both."));
    }
    if (payload != nullptr) {
      item.fingerprint = semel::fingerprint({.method = {}, .target = {}, .body = payload->raw()}, BodyForm::json);
    }
    if (given == nullptr) return {};
    const auto bytes = given->kind() == JsonView::Kind::string ? core::from_hex(given->text()) : std::nullopt;
    if (!bytes || bytes->size() != Digest{}.size()) {
      return std::unexpected(wrong(ItemMember::fingerprint, "fingerprint is a string of 64 hexadecimal digits."));
    }
    item.fingerprint.emplace();
    std::ranges::copy(*bytes, item.fingerprint->digest.begin());
    return {};
  }

  // The mark of an object has a key like any other, behind a byte that no key of a caller begins with. Stamps that are
  // numbers and stamps that are texts do not compare, so they are of two objects.
  Checked order() {
    const JsonView* const value = members_.find(ItemMember::order);
    if (value == nullptr) return {};
    constexpr const char* form = R"(order is {"object": a string of 1 to 255 bytes, "stamp": a number or a string}.)";
    std::optional<std::string> object;
    std::optional<std::string> stamp;
    std::string_view kind;
    bool strange = value->kind() != JsonView::Kind::object;
    if (!strange) {
      value->members([&](std::string_view name, JsonView member) {
        const bool is_text = member.kind() == JsonView::Kind::string;
        if (name == "object" && !object && is_text) {
          object = member.text();
        } else if (name == "stamp" && !stamp && (is_text || member.kind() == JsonView::Kind::number)) {
          kind = is_text ? "text" : "number";
          stamp = is_text ? core::stamp_of(member.text(), core::OrderForm::text)
                          : core::stamp_of(member.raw(), core::OrderForm::number);
        } else {
          strange = true;
        }
        return !strange;
      });
    }
    if (strange || !object || !stamp || object->empty() || object->size() > object_bytes_max) {
      return std::unexpected(wrong(ItemMember::order, form));
    }
    const Digest digest = core::sha256_parts("semel api object v1", {kind, *object});
    auto mark = make_key(item.key.space, scope_, '\x02' + core::to_hex(digest));
    if (!mark) return std::unexpected(wrong(ItemMember::order, mark.error().detail));
    std::memcpy(&mark->home, mark->id.data(), sizeof(mark->home));
    item.key.home = mark->home;
    item.terms.order = std::make_shared<const Order>(Order{.object = *std::move(mark), .stamp = *std::move(stamp)});
    return {};
  }

  Item item;

 private:
  [[nodiscard]] Trouble wrong(ItemMember member, std::string detail) const {
    return invalid(members_.pointer_to(member), std::move(detail));
  }

  // A string without control characters. A key may begin with the byte that marks those which the gateway composes.
  [[nodiscard]] std::expected<std::string, Trouble> text(ItemMember member, std::size_t min, std::size_t max) const {
    auto found = any_text(member, min, max);
    if (!found) return found;
    const bool composed = member == ItemMember::key && found->front() == composed_mark;
    if (std::ranges::any_of(std::string_view(*found).substr(composed ? 1 : 0), core::is_control)) {
      return std::unexpected(wrong(member, "This has control characters."));
    }
    return found;
  }

  [[nodiscard]] std::expected<std::string, Trouble> any_text(ItemMember member, std::size_t min,
                                                             std::size_t max) const {
    const JsonView* const value = members_.find(member);
    const auto refuse = [&](std::string_view what) {
      return std::unexpected(wrong(member, fmt::format("{} It is a string of {} to {} bytes.", what, min, max)));
    };
    if (value == nullptr) return refuse("This member is missing.");
    if (value->kind() != JsonView::Kind::string) return refuse("This is not a string.");
    std::string found = value->text();
    if (found.size() < min || found.size() > max) return refuse("This has the wrong length.");
    return found;
  }

  Checked read_scope() {
    scope_ = token_.scope.value_or("");
    if (members_.find(ItemMember::scope) == nullptr) return {};
    auto given = any_text(ItemMember::scope, 0, scope_bytes_max);
    if (!given) return std::unexpected(std::move(given.error()));
    if (token_.scope && *token_.scope != *given) {
      return std::unexpected(
          not_allowed(members_.pointer_to(ItemMember::scope), "The token is bound to another scope."));
    }
    scope_ = *std::move(given);
    return {};
  }

  Checked span(ItemMember member, Millis& into, Millis most) const {
    const JsonView* const value = members_.find(member);
    if (value == nullptr) return {};
    const std::optional<std::int64_t> number = value->whole();
    if (!number || *number < 1)
      return std::unexpected(wrong(member, "This is a whole number of milliseconds, from 1 on."));
    if (*number > most.count()) {
      return std::unexpected(
          not_allowed(members_.pointer_to(member), fmt::format("The token allows at most {} ms.", most.count())));
    }
    into = Millis{*number};
    return {};
  }

  const Members& members_;
  const config::ApiToken& token_;
  std::string scope_;
  std::string key_;
};

Checked read_call(ItemReader& reader, ApiCall call, const ResultRules& rules) {
  if (Checked named = reader.name(); !named) return named;
  if (call == ApiCall::claim) return reader.claim();
  if (call == ApiCall::get) {
    if (Checked read = reader.fingerprint(); !read) return read;
    return reader.order();
  }
  if (Checked fenced = reader.fence(); !fenced) return fenced;
  if (call == ApiCall::renew) return reader.lease();
  return call == ApiCall::complete ? reader.result(rules) : Checked();
}

bool read_number(std::string_view text, int base, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::expected<Item, Trouble> read_item(ApiCall call, const Members& members, const config::ApiToken& token,
                                       const ResultRules& rules) {
  ItemReader reader(members, token);
  Checked read = read_call(reader, call, rules);
  if (!read) return std::unexpected(std::move(read.error()));
  return std::move(reader.item);
}

std::string fence_text(Fence fence, std::uint64_t home) {
  if (home == 0) return fmt::format("{}.{:016x}", fence.number, fence.owner);
  return fmt::format("{}.{:016x}.{:016x}", fence.number, fence.owner, home);
}

std::optional<NamedFence> parse_fence(std::string_view text) {
  NamedFence named;
  const std::size_t first = text.find('.');
  if (first == std::string_view::npos || !read_number(text.substr(0, first), 10, named.fence.number))
    return std::nullopt;
  text.remove_prefix(first + 1);
  if (text.size() != 16 && (text.size() != 33 || text[16] != '.')) return std::nullopt;
  if (!read_number(text.substr(0, 16), 16, named.fence.owner)) return std::nullopt;
  if (text.size() == 33 && !read_number(text.substr(17), 16, named.home)) return std::nullopt;
  return named;
}

}  // namespace semel::api
