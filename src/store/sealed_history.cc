// A value is sealed as the body of an answer would be, bound to the place where it stands.
#include "store/sealed_history.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/seal.h"
#include "core/sha256.h"
#include "store/history.h"
#include "store/identity.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr std::uint16_t some_status = 200;  // a sealed answer has one

core::Belonging place_of(const HistoryRow& row) {
  const std::string kind = std::to_string(static_cast<int>(row.kind));
  const std::string at = std::to_string(row.at.time_since_epoch().count());
  const Digest id = core::sha256_parts("semel history v1", {kind, row.subject, at});
  return {.id = id, .fence = {.number = row.number, .owner = 0}, .fingerprint = std::nullopt};
}

// Of what can be opened.
std::vector<HistoryRow> opened(const core::Seals& seals, std::vector<HistoryRow> rows) {
  std::vector<HistoryRow> whole;
  whole.reserve(rows.size());
  for (HistoryRow& row : rows) {
    const Response sealed{.status = 0, .fields = {}, .body = std::move(row.value), .body_kept = true};
    const Result<SharedResponse> plain = seals.open(sealed, place_of(row));
    if (!plain) continue;
    row.value = (*plain)->body;
    whole.push_back(std::move(row));
  }
  return whole;
}

}  // namespace

Async<void> SealedHistory::append(std::vector<HistoryRow> rows) {
  Result<std::vector<HistoryRow>> prepared = prepared_rows(std::move(rows));
  if (!prepared) co_return std::unexpected(std::move(prepared.error()));
  for (HistoryRow& row : *prepared) {
    const core::Belonging place = place_of(row);
    Response plain{.status = some_status, .fields = {}, .body = std::move(row.value), .body_kept = true};
    row.value = std::move(seals_->seal(plain, place, random_salt()).body);
  }
  co_return co_await inner_.append(*std::move(prepared));
}

Async<std::vector<HistoryRow>> SealedHistory::read(HistoryKind kind, std::string subject, HistorySpan span,
                                                   std::size_t limit) {
  const std::shared_ptr<const core::Seals> seals = seals_;  // the store may have gone when the answer comes
  Result<std::vector<HistoryRow>> rows = co_await inner_.read(kind, std::move(subject), span, limit);
  if (!rows) co_return rows;
  co_return opened(*seals, *std::move(rows));
}

Async<HistoryPage> SealedHistory::scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) {
  const std::shared_ptr<const core::Seals> seals = seals_;
  Result<HistoryPage> page = co_await inner_.scan(kind, span, std::move(cursor), limit);
  if (!page) co_return page;
  page->rows = opened(*seals, std::move(page->rows));
  co_return page;
}

Async<void> SealedHistory::prune(HistoryKind kind, Time before) {
  return inner_.prune(kind, before);
}

}  // namespace semel::store
