// Buckets, sums and the lines that Prometheus reads.
#include "telemetry/histogram.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace semel::telemetry {
namespace {

std::string rendered(const Histogram& histogram, std::string_view labels = "") {
  std::string out;
  histogram.render(out, "x", labels);
  return out;
}

// Nothing was added: every bucket is there, and empty.
TEST(HistogramTest, RendersEveryBucketWhenEmpty) {
  EXPECT_EQ(rendered(Histogram{count_bounds}),
            "x_bucket{le=\"1\"} 0\nx_bucket{le=\"2\"} 0\nx_bucket{le=\"4\"} 0\nx_bucket{le=\"8\"} 0\n"
            "x_bucket{le=\"16\"} 0\nx_bucket{le=\"32\"} 0\nx_bucket{le=\"64\"} 0\nx_bucket{le=\"128\"} 0\n"
            "x_bucket{le=\"256\"} 0\nx_bucket{le=\"512\"} 0\nx_bucket{le=\"1024\"} 0\nx_bucket{le=\"2048\"} 0\n"
            "x_bucket{le=\"4096\"} 0\nx_bucket{le=\"8192\"} 0\nx_bucket{le=\"+Inf\"} 0\nx_sum 0\nx_count 0\n");
}

// A bucket holds what is at most its bound, and all that the buckets before it hold; what is above all bounds is in the
// last one only.
TEST(HistogramTest, CountsUpToAndWithTheBound) {
  Histogram histogram{count_bounds};
  for (const double value : {1.0, 2.0, 2.5, 8192.0, 8193.0}) histogram.add(value);
  const std::string text = rendered(histogram);
  for (const char* line :
       {"x_bucket{le=\"1\"} 1\n", "x_bucket{le=\"2\"} 2\n", "x_bucket{le=\"4\"} 3\n", "x_bucket{le=\"4096\"} 3\n",
        "x_bucket{le=\"8192\"} 4\n", "x_bucket{le=\"+Inf\"} 5\n", "x_sum 16390.5\n", "x_count 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

// Bounds of seconds begin at a tenth of a millisecond, and the sum is exact to a millionth.
TEST(HistogramTest, MeasuresSeconds) {
  Histogram histogram;
  histogram.add(0);
  histogram.add(0.0001);
  histogram.add(0.000101);
  histogram.add(31);
  const std::string text = rendered(histogram);
  for (const char* line : {"x_bucket{le=\"0.0001\"} 2\n", "x_bucket{le=\"0.00025\"} 3\n", "x_bucket{le=\"30\"} 3\n",
                           "x_bucket{le=\"+Inf\"} 4\n", "x_sum 31.000201\n", "x_count 4\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

// Labels stand in every line, before the bound.
TEST(HistogramTest, RendersLabels) {
  Histogram histogram{count_bounds};
  histogram.add(3);
  const std::string text = rendered(histogram, R"(route="/v1",provider="p")");
  for (const char* line :
       {"x_bucket{route=\"/v1\",provider=\"p\",le=\"4\"} 1\n", "x_bucket{route=\"/v1\",provider=\"p\",le=\"+Inf\"} 1\n",
        "x_sum{route=\"/v1\",provider=\"p\"} 3\n", "x_count{route=\"/v1\",provider=\"p\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

// Threads add at the same time, and nothing is lost.
TEST(HistogramTest, LosesNothingAmongThreads) {
  Histogram histogram{count_bounds};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) histogram.add(2);
      });
    }
  }
  const std::string text = rendered(histogram);
  EXPECT_NE(text.find("x_bucket{le=\"2\"} 40000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("x_sum 80000\n"), std::string::npos) << text;
}

// count() adds one to the counter that is meant, and to no other.
TEST(HistogramTest, CountsWhatIsMeant) {
  enum class What : std::uint8_t { a, b, c };
  std::array<std::atomic<std::uint64_t>, 3> counters{};
  count(counters, What::b);
  count(counters, What::b);
  count(counters, What::c);
  EXPECT_EQ(counters.at(0), 0U);
  EXPECT_EQ(counters.at(1), 2U);
  EXPECT_EQ(counters.at(2), 1U);
}

}  // namespace
}  // namespace semel::telemetry
