// A history whose values are encrypted before another one keeps them (docs/adr/0013-encryption.md). A value that does
// not open is left out: it is telemetry, and whoever can write to the store must not be able to make any up.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/seal.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store {

class SealedHistory : public History {
 public:
  // `inner` outlives this.
  SealedHistory(std::shared_ptr<const core::Seals> seals, History& inner) : seals_(std::move(seals)), inner_(inner) {}

  Async<void> append(std::vector<HistoryRow> rows) override;
  Async<std::vector<HistoryRow>> read(HistoryKind kind, std::string subject, HistorySpan span,
                                      std::size_t limit) override;
  Async<HistoryPage> scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) override;
  Async<void> prune(HistoryKind kind, Time before) override;

 private:
  const std::shared_ptr<const core::Seals> seals_;
  History& inner_;
};

}  // namespace semel::store
