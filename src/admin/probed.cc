#include "admin/probed.h"

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/object.hpp>

#include "admin/answers.h"
#include "admin/described.h"
#include "admin/desk_request.h"
#include "admin/sources.h"
#include "config/config.h"
#include "gateway/ask_probe.h"
#include "policy/request_view.h"
#include "store/desk.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {

Task<std::expected<SharedResponse, Response>> answer_of_probe(const Sources* sources, policy::RequestView request,
                                                              const boost::json::object* body) {
  const std::shared_ptr<const config::Config> config = sources->config();
  if (sources->desk == nullptr || !sources->probe) co_return std::unexpected(error_answer(501, "this cannot be asked"));
  Result<Described> described = describe(*config, *body);
  if (!described) co_return std::unexpected(error_answer(400, described.error().detail));
  const std::optional<std::string> bytes = id_in(request);
  const std::optional<Digest> id = bytes ? whole_id(*bytes) : std::nullopt;
  if (!id) co_return std::unexpected(error_answer(400, "id: must be the whole id, 64 digits"));
  if (sources->desk->named(described->key).id != *id) {
    co_return std::unexpected(
        error_answer(400, "key: route, fields and key are those of another key than the one in the path"));
  }
  gateway::ProbeQuestion question{.request = described->view, .key_text = described->key_text};
  const Result<Outcome> said = co_await sources->probe(std::move(question));
  if (!said && said.error().code == Code::invalid) co_return std::unexpected(error_answer(400, said.error().detail));
  if (!said) co_return std::unexpected(error_answer(503, "nothing was done: " + said.error().detail));
  if (said->verdict == Verdict::release) {
    co_return std::unexpected(
        error_answer(409, "nothing was done: the upstream says that the request did not take effect (not-done)"));
  }
  if (said->verdict == Verdict::unknown || said->response == nullptr) {
    co_return std::unexpected(error_answer(409, "nothing was done: the upstream does not know either"));
  }
  co_return said->response;
}

}  // namespace semel::admin
