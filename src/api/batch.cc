// Items are read one by one, so that one that is wrong keeps no other from its answer.
#include "api/batch.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/access.h"
#include "api/answer.h"
#include "api/item.h"
#include "api/pointer.h"
#include "api/result.h"
#include "api/trouble.h"
#include "api/work.h"
#include "config/config.h"
#include "core/json/view.h"
#include "core/json/writer.h"
#include <semel/key.h>

namespace semel::api {

using core::json::JsonView;

bool is_batch(JsonView document) {
  bool found = false;
  if (document.kind() != JsonView::Kind::object) return found;
  document.members([&](std::string_view name, JsonView /*value*/) {
    found = name == "items" || name == "defaults";
    return !found;
  });
  return found;
}

std::expected<BatchRequest, Trouble> read_batch(ApiCall call, JsonView document) {
  BatchRequest batch;
  std::optional<Trouble> trouble;
  bool has_items = false;
  bool has_defaults = false;
  document.members([&](std::string_view name, JsonView value) {
    if (name == "items" && !has_items) {
      has_items = true;
      if (value.kind() != JsonView::Kind::array) {
        trouble = invalid("/items", "items is a list of 1 to 500 items. Nothing was done.");
        return false;
      }
      value.elements([&](JsonView item) {
        batch.items.push_back(item);
        return batch.items.size() <= items_max;
      });
    } else if (name == "defaults" && !has_defaults) {
      has_defaults = true;
      auto defaults = read_members(call, value, "/defaults");
      if (!defaults) trouble = std::move(defaults.error());
      if (defaults) batch.defaults = *std::move(defaults);
    } else {
      trouble = invalid("/" + escaped_token(name), "Beside items there is only defaults, each once. Nothing was done.");
    }
    return !trouble;
  });
  if (trouble) return std::unexpected(*std::move(trouble));
  if (batch.items.empty() || batch.items.size() > items_max) {
    return std::unexpected(invalid("/items", "items is a list of 1 to 500 items. Nothing was done."));
  }
  return batch;
}

std::vector<ApiJob> jobs_of(ApiCall call, const BatchRequest& batch, const config::ApiToken& token,
                            const ResultRules& rules, std::string_view base) {
  std::vector<ApiJob> jobs(batch.items.size());
  std::unordered_set<Key> keys;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    auto members = read_members(call, batch.items[i], fmt::format("/items/{}", i));
    if (members) members->defaults = &batch.defaults;
    auto item = members ? read_item(call, *members, token, rules)
                        : std::expected<Item, Trouble>(std::unexpected(members.error()));
    if (item && !keys.insert(item->key).second) {
      item = std::unexpected(invalid(fmt::format("/items/{}/key", i),
                                     "This key stands in the batch before. Send it in a request of its own."));
    }
    if (item) {
      jobs[i].item = *std::move(item);
    } else {
      jobs[i].answer = refused(item.error(), base);
    }
  }
  return jobs;
}

std::string batch_text(const std::vector<ApiJob>& jobs) {
  std::string text;
  std::size_t bytes = 16;
  for (const ApiJob& job : jobs) bytes += job.answer.body.size() + 14;
  text.reserve(bytes);
  core::json::JsonWriter json(text);
  json.begin_object().name("items").begin_array();
  for (const ApiJob& job : jobs) {
    if (job.answer.outcome != ItemOutcome::refused) {
      json.verbatim(job.answer.body);
      continue;
    }
    json.begin_object().name("problem").verbatim(job.answer.body).end_object();
  }
  json.end_array().end_object();
  return text;
}

}  // namespace semel::api
