// Loads the claims API with pairs of calls: claim some keys, then complete them.
//
//   claims_bench PORT SECRET PREFIX CONNECTIONS ITEMS SECONDS
//
// With ITEMS = 1 each call has one item, otherwise so many in a batch. Prints {"pairs": N, "seconds": S} when it is
// over. Every answer is looked at: a key that is not granted, or not completed, ends the run.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using Clock = std::chrono::steady_clock;

struct Load {
  std::uint16_t port;
  std::string secret;
  std::string prefix;
  std::size_t items;
  Clock::time_point until;
  std::uint64_t pairs = 0;
};

[[noreturn]] void give_up(std::string_view what, std::string_view answer) {
  fmt::print(stderr, "claims_bench: {}: {}\n", what, answer.substr(0, 500));
  std::exit(1);
}

class Caller {
 public:
  Caller(asio::io_context& context, const Load& load) : socket_(context), load_(load) {}

  asio::awaitable<void> connect() {
    const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), load_.port);
    co_await socket_.async_connect(endpoint, use_awaitable);
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  // The body of the answer; valid until the next call.
  asio::awaitable<std::string_view> call(const std::string& path, const std::string& body) {
    const std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        path, load_.secret, body.size(), body);
    co_await asio::async_write(socket_, asio::buffer(request), use_awaitable);
    answer_.clear();
    std::size_t head = std::string::npos;
    std::size_t whole = 0;
    while (head == std::string::npos || answer_.size() < whole) {
      const std::size_t before = answer_.size();
      answer_.resize(before + 65'536);
      const std::size_t read =
          co_await socket_.async_read_some(asio::buffer(answer_.data() + before, 65'536), use_awaitable);
      answer_.resize(before + read);
      if (head != std::string::npos) continue;
      head = answer_.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const std::size_t length = answer_.find("Content-Length: ");
      if (length > head) give_up("no length", answer_);
      whole = head + 4 + std::strtoul(answer_.c_str() + length + 16, nullptr, 10);
    }
    co_return std::string_view(answer_).substr(head + 4);
  }

 private:
  asio::ip::tcp::socket socket_;
  const Load& load_;
  std::string answer_;
};

std::string joined(const std::vector<std::string>& items, std::string_view defaults) {
  if (items.size() == 1) return items.front();
  std::string body = fmt::format(R"({{"defaults":{{{}}},"items":[)", defaults);
  for (std::size_t i = 0; i < items.size(); ++i) body.append(i == 0 ? "" : ",").append(items[i]);
  return body + "]}";
}

asio::awaitable<void> pairs(asio::io_context* context, Load* load, std::size_t number) {
  Caller caller(*context, *load);
  co_await caller.connect();
  const bool alone = load->items == 1;
  const std::string space = R"("namespace":"bench")";
  const std::string name = alone ? space + "," : "";
  for (std::uint64_t round = 0; Clock::now() < load->until; ++round) {
    std::vector<std::string> items;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < load->items; ++i) {
      keys.push_back(fmt::format("{}-{}-{}-{}", load->prefix, number, round, i));
      items.push_back(fmt::format(R"({{{}"key":"{}","owner":"0123456789abcdef","payload":{{"amount":{}}}}})", name,
                                  keys.back(), i));
    }
    const std::string claim = joined(items, space);
    const std::string_view granted = co_await caller.call("/v1/claims", claim);
    std::size_t at = 0;
    for (std::size_t i = 0; i < load->items; ++i) {
      constexpr std::string_view mark = R"("fence":")";
      at = granted.find(mark, at);
      if (at == std::string_view::npos) give_up("not granted", granted);
      at += mark.size();
      const std::string_view fence = granted.substr(at, granted.find('"', at) - at);
      items[i] =
          fmt::format(R"({{{}"key":"{}","fence":"{}","result":{{"body":{{"id":"pay_{}","status":"charged"}}}}}})", name,
                      keys[i], fence, i);
    }
    const std::string end = joined(items, space);
    const std::string_view ended = co_await caller.call("/v1/claims/complete", end);
    std::size_t count = 0;
    for (std::size_t found = ended.find("\"completed\""); found != std::string_view::npos;
         found = ended.find("\"completed\"", found + 1)) {
      ++count;
    }
    if (count != load->items) give_up("not completed", ended);
    load->pairs += load->items;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) give_up("usage", "claims_bench PORT SECRET PREFIX CONNECTIONS ITEMS SECONDS");
  const auto number = [&](int place) { return std::strtoul(words[place], nullptr, 10); };
  const Clock::time_point begun = Clock::now();
  Load load{.port = static_cast<std::uint16_t>(number(1)),
            .secret = words[2],
            .prefix = words[3],
            .items = number(5),
            .until = begun + std::chrono::seconds(number(6))};
  asio::io_context context(1);
  for (std::size_t i = 0; i < number(4); ++i) {
    asio::co_spawn(context, pairs(&context, &load, i), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  context.run();
  const std::chrono::duration<double> took = Clock::now() - begun;
  fmt::print("{{\"pairs\": {}, \"seconds\": {:.3f}}}\n", load.pairs, took.count());
  return 0;
}
