#include "cli/deliver.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "http/call.h"
#include "http/failure.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include "http/writer.h"
#include "reading/address.h"
#include "webhook/sign.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::cli {
namespace {

constexpr Millis patience{60'000};
constexpr std::size_t body_bytes_max = 1U << 20U;

struct Sending {
  Sending(const webhook::SignedDelivery& what, const DeliverOptions& how, Clock& clock)
      : delivery(what),
        left(how.times),
        ticker(clock, context.get_executor()),
        upstream(
            {.addresses = {{.host = how.url.authority.host, .port = how.url.authority.port, .secure = how.url.secure}},
             .connect_time = Millis{5'000},
             .idle_max = how.parallel,
             .tls = how.tls},
            clock, context.get_executor(), ticker) {
    http::HeadWriter out = http::HeadWriter::request(head, delivery.method, delivery.target);
    out.field("Host", reading::host_field(how.url));
    for (const Field& field : delivery.fields) out.field(field.name, field.value);
    out.length(delivery.body.size());
    out.end();
  }

  const webhook::SignedDelivery& delivery;
  std::uint32_t left;
  std::uint32_t sending = 0;
  std::string head;
  Delivered delivered;
  boost::asio::io_context context{1};
  http::Ticker ticker;
  http::Upstream upstream;
};

Task<std::uint16_t> send_one(Sending* run) {
  http::Call call(run->upstream, patience);
  http::CallEnd end = co_await call.send(run->head, run->delivery.body);
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end != http::CallEnd::answered) co_return 0;
  http::Try<std::string> answer = co_await call.read_body_up_to(body_bytes_max);
  if (!answer) co_return 0;
  const std::uint16_t status = call.head().status();
  run->delivered.body = *std::move(answer);
  call.finish();
  co_return status;
}

// One of several that send at the same time; the last to end stops the loop.
Task<void> send_in_turn(Sending* run) {
  while (run->left > 0) {
    --run->left;
    const std::uint16_t status = co_await send_one(run);
    run->delivered.statuses.push_back(status);
  }
  if (--run->sending == 0) run->context.stop();
}

}  // namespace

Delivered deliver(const webhook::SignedDelivery& delivery, const DeliverOptions& options, Clock& clock) {
  Sending run(delivery, options, clock);
  run.ticker.start();
  run.sending = std::min(options.parallel, options.times);
  for (std::uint32_t i = 0; i < run.sending; ++i) {
    boost::asio::co_spawn(run.context, send_in_turn(&run), boost::asio::detached);
  }
  run.context.run();
  run.delivered.trouble = run.upstream.trouble();
  return std::move(run.delivered);
}

}  // namespace semel::cli
