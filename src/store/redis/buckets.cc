#include "store/redis/buckets.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redis_url.h"
#include <semel/key.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t cluster_count = 1'024;
constexpr std::size_t apart = slot_count / cluster_count;
constexpr std::uint16_t zero_slot = 13'907;  // of the tag 0; so it is among the tags below
constexpr std::size_t offset = zero_slot % apart;

// The smallest number for each bucket whose slot is that of the bucket.
std::vector<std::string> find_tags() {
  std::vector<std::string> tags(cluster_count);
  std::size_t found = 0;
  for (std::uint32_t number = 0; found < cluster_count; ++number) {
    std::string tag = std::to_string(number);
    const std::size_t slot = slot_of(tag);
    if (slot % apart != offset || !tags[slot / apart].empty()) continue;
    tags[slot / apart] = std::move(tag);
    ++found;
  }
  return tags;
}

const std::string& cluster_tag(std::size_t bucket) {
  static const std::vector<std::string> tags = find_tags();
  return tags.at(bucket);
}

}  // namespace

std::uint16_t slot_of(std::string_view tag) {
  std::uint32_t crc = 0;
  for (const char letter : tag) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(letter)) << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    crc &= 0xffffU;
  }
  return static_cast<std::uint16_t>(crc % slot_count);
}

Buckets::Buckets(core::RedisUrl::Setup setup) : count_(setup == core::RedisUrl::Setup::cluster ? cluster_count : 1) {}

std::size_t Buckets::first() const {
  return count_ == 1 ? 0 : zero_slot / apart;
}

std::size_t Buckets::of(const Key& key) const {
  if (key.home != 0) return static_cast<std::size_t>(key.home % count_);
  return ((static_cast<std::size_t>(key.id[0]) << 8U) | key.id[1]) % count_;
}

std::size_t Buckets::of_tag(std::string_view tag) const {
  return count_ == 1 ? 0 : slot_of(tag) / apart;
}

const std::string& Buckets::tag(std::size_t bucket) const {
  static const std::string single = "0";
  return count_ == 1 ? single : cluster_tag(bucket);
}

std::uint16_t Buckets::slot(std::size_t bucket) const {
  return count_ == 1 ? zero_slot : static_cast<std::uint16_t>((bucket * apart) + offset);
}

}  // namespace semel::store::redis
