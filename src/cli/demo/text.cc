#include "cli/demo/text.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace semel::cli {

std::string demo_text(const DemoPlace& place) {
  const std::string gateway = fmt::format("127.0.0.1:{}", place.port);
  const std::string with_key = fmt::format("curl -i {}/v1/payments -H 'Idempotency-Key: a1' -d", gateway);
  return fmt::format(
      R"(A payments API that charges every time it is asked, and Semel in front of it.

  http://{0}  Semel: what clients call
  http://127.0.0.1:{1}  the payments API itself
  http://127.0.0.1:{2}  for operators: a dashboard, /metrics, /readyz

Paste these into another terminal, one after the other.

1. A payment. Expect 201 and a fresh id, pay_1.

{3} '{{"amount":25}}'

2. Send it again, as a client that never got the answer would. Expect the
   same 201 with pay_1, marked Idempotent-Replayed: true. Nothing is charged.

{3} '{{"amount":25}}'

3. The same key, another amount. Expect 422: a key stands for one request.

{3} '{{"amount":90}}'

4. No key. Expect 400: this route wants one.

curl -i {0}/v1/payments -d '{{"amount":25}}'

What was charged: one payment of 25.

curl {0}/effects

25 duplicates of each of 100 keys at once, and a verdict.

{4} hammer http://{0}/v1/payments \
  --effects http://{0}/effects

The same API without Semel, beside this one on port 8090.

{4} demo --without --port 8090

Ctrl-C ends it.
)",
      gateway, place.api_port, place.admin_port, with_key, place.program);
}

std::string demo_text_without(const DemoPlace& place) {
  const std::string api = fmt::format("127.0.0.1:{}", place.port);
  const std::string with_key = fmt::format("curl -i {}/v1/payments -H 'Idempotency-Key: a1' -d", api);
  return fmt::format(
      R"(A payments API that charges every time it is asked, and nothing in front of it.

  http://{0}  the payments API itself

Paste these into another terminal, one after the other.

1. A payment. Expect 201 and a fresh id, pay_1.

{1} '{{"amount":25}}'

2. Send it again, as a client that never got the answer would. Expect 201
   and pay_2: the customer has paid twice.

{1} '{{"amount":25}}'

What was charged: two payments of 25.

curl {0}/effects

25 duplicates of each of 100 keys at once, and a verdict.

{2} hammer http://{0}/v1/payments \
  --effects http://{0}/effects

Ctrl-C ends it.
)",
      api, with_key, place.program);
}

std::string demo_farewell(std::uint64_t requests, std::uint64_t payments) {
  return fmt::format("{} request{} came, {} payment{} charged.\n", requests, requests == 1 ? "" : "s", payments,
                     payments == 1 ? " was" : "s were");
}

}  // namespace semel::cli
