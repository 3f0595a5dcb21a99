// What a provider's file says beyond what its signatures cover is refused: it would be believed of any stranger who
// holds one delivery.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/expression.h"
#include "reading/document.h"
#include "reading/issue.h"
#include "reading/table_reader.h"
#include "webhook/coverage.h"
#include "webhook/provider.h"
#include "webhook/provider_sections.h"

namespace semel::webhook {
namespace {

std::string uncovered_part(const SignatureScheme& scheme, const policy::Expression& expression) {
  const auto found =
      std::ranges::find_if(expression.parts, [&](const policy::Part& part) { return !covers(scheme, part); });
  return found == expression.parts.end() ? std::string{} : policy::part_text(*found);
}

bool hashes_signed_text(const policy::Expression& id) {
  return std::ranges::any_of(id.parts, [](const policy::Part& part) {
    return part.kind == policy::PartKind::sha256 && part.text == "signed";
  });
}

void check_signs_id(reading::Reading& reading, const reading::Node& node, const Provider& provider,
                    const SignatureScheme& scheme) {
  const reading::Node* const claim = node.find("signs_id");
  if (claim == nullptr) return;
  const bool is_signed = signs_id(provider, scheme);
  if (claim->integer != 0 && !is_signed) {
    const std::string part = policy::part_text(unsigned_id_parts(provider, scheme).front());
    reading.report.error(claim->at,
                         fmt::format("signs_id: {} names the event, but the signature does not cover it", part));
  } else if (claim->integer == 0 && is_signed) {
    reading.report.warning(claim->at, "signs_id is false, but the signature covers what names the event; leave it out");
  }
}

// A mark that a stranger can move suppresses every later event of its object.
void check_order(reading::Reading& reading, const reading::Node* event, const Provider& provider,
                 const SignatureScheme& scheme) {
  if (!provider.event.order || !provider.event.object) return;
  if (vouches_for_sender_only(provider, scheme)) return;
  for (const auto& [key, expression] :
       {std::pair("order", &*provider.event.order), {"object", &*provider.event.object}}) {
    const std::string part = uncovered_part(scheme, *expression);
    if (part.empty()) continue;
    const reading::Node* const value = event->find(key);
    reading.report.error(
        value == nullptr ? event->at : value->at,
        fmt::format("{}: the signature does not cover {}, so a stranger could reorder events", key, part));
  }
}

void check_hashed_ids(reading::Reading& reading, const reading::Node& node, const Provider& provider,
                      const SignatureScheme& scheme) {
  if (std::ranges::none_of(ids_of(provider, scheme), hashes_signed_text)) return;
  if (std::ranges::any_of(unsigned_id_parts(provider, scheme), [](const policy::Part& part) {
        return part.kind == policy::PartKind::sha256 && part.text == "signed";
      })) {
    reading.report.error(node.at,
                         "{sha256:signed} names the event, but this scheme signs no text that could be hashed");
  } else if (provider.event.items && !scheme.per_item) {
    reading.report.error(node.at, "{sha256:signed} is the same for all events of a batch, unless per_item is set");
  }
}

// The boundary of a form is made up anew for every attempt.
void check_hashed_body(reading::Reading& reading, const reading::Node& node, const Provider& provider,
                       const SignatureScheme& scheme) {
  const auto hashes_body = [](const policy::Expression& id) {
    return std::ranges::any_of(id.parts, [](const policy::Part& part) {
      return part.kind == policy::PartKind::sha256 && part.text == "body";
    });
  };
  if (provider.json_part.empty() || std::ranges::none_of(ids_of(provider, scheme), hashes_body)) return;
  reading.report.error(node.at,
                       "{sha256:body} names the event, but a form (json_part) is written anew for each attempt");
}

}  // namespace

void check_claims(reading::Reading& reading, const std::vector<reading::Node>& signatures, const reading::Node* event,
                  const Provider& provider) {
  for (std::size_t i = 0; i < provider.schemes.size(); ++i) {
    check_signs_id(reading, signatures[i], provider, provider.schemes[i]);
    check_order(reading, event, provider, provider.schemes[i]);
    check_hashed_ids(reading, signatures[i], provider, provider.schemes[i]);
    check_hashed_body(reading, signatures[i], provider, provider.schemes[i]);
  }
}

}  // namespace semel::webhook
