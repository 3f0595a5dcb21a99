// A table of tallies as bytes:
//
//   version 1 · names · for each: its length, its bytes, outcomes · for each: number, count, buckets · for each:
//   number, count
//
// All but the version are numbers in seven bits a byte, lowest first.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/latency_sketch.h"
#include "telemetry/tally.h"

namespace semel::telemetry {
namespace {

constexpr char version = 1;

void put(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7U) out.push_back(static_cast<char>(number | 0x80U));
  out.push_back(static_cast<char>(number));
}

class TallyReader {
 public:
  explicit TallyReader(std::string_view bytes) : left_(bytes) {}

  // 0 once anything was wrong.
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<std::uint8_t>(left_.front());
      left_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return whole_ ? value : 0;
    }
    whole_ = false;
    return 0;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > left_.size()) {
      whole_ = false;
      return {};
    }
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(size);
    return text;
  }
  void refuse() { whole_ = false; }
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
  bool whole_ = true;
};

const LatencySketch* times_in(const TallySum& tally, TallyOutcome outcome) {
  for (const auto& [of, sketch] : tally.times) {
    if (of == outcome) return &sketch;
  }
  return nullptr;
}

void put_times(std::string& out, const LatencySketch* sketch) {
  std::uint64_t used = 0;
  if (sketch != nullptr) {
    for (const std::uint64_t count : sketch->counts()) used += count == 0 ? 0 : 1;
  }
  put(out, used);
  if (sketch == nullptr) return;
  for (std::size_t i = 0; i < LatencySketch::buckets; ++i) {
    if (sketch->counts()[i] == 0) continue;
    put(out, i);
    put(out, sketch->counts()[i]);
  }
}

std::string encoded(const TallyTable& table, bool with_times) {
  std::string out(1, version);
  put(out, table.rows().size());
  for (const auto& [name, tally] : table.rows()) {
    put(out, name.size());
    out.append(name);
    std::uint64_t used = 0;
    for (const std::uint64_t count : tally.counts) used += count == 0 ? 0 : 1;
    put(out, used);
    for (std::size_t i = 0; i < tally_outcomes; ++i) {
      if (tally.counts[i] == 0) continue;
      put(out, i);
      put(out, tally.counts[i]);
      put_times(out, with_times ? times_in(tally, static_cast<TallyOutcome>(i)) : nullptr);
    }
  }
  return out;
}

void read_tally(TallyReader& reader, TallySum& tally) {
  const std::uint64_t outcomes = reader.number();
  for (std::uint64_t i = 0; i < outcomes && reader.whole(); ++i) {
    const std::uint64_t outcome = reader.number();
    const std::uint64_t count = reader.number();
    const std::uint64_t used = reader.number();
    if (outcome >= tally_outcomes || used > LatencySketch::buckets) return reader.refuse();
    tally.counts.at(outcome) += count;
    for (std::uint64_t each = 0; each < used && reader.whole(); ++each) {
      const std::uint64_t bucket = reader.number();
      const std::uint64_t times = reader.number();
      if (bucket >= LatencySketch::buckets) return reader.refuse();
      tally.times_of(static_cast<TallyOutcome>(outcome)).add_to(bucket, times);
    }
  }
}

}  // namespace

std::string TallyTable::encode(std::size_t bytes_max) const {
  std::string out = encoded(*this, true);
  if (out.size() > bytes_max) out = encoded(*this, false);
  return out;
}

std::optional<TallyTable> TallyTable::decode(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != version) return std::nullopt;
  TallyReader reader(bytes.substr(1));
  TallyTable table;
  const std::uint64_t names = reader.number();
  for (std::uint64_t i = 0; i < names && reader.whole(); ++i) {
    const std::string_view name = reader.text();
    if (reader.whole()) read_tally(reader, table.of(name));
  }
  if (!reader.whole() || !reader.at_end()) return std::nullopt;
  return table;
}

}  // namespace semel::telemetry
