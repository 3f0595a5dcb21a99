// The readers of a provider's tables, one per table.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "policy/expression.h"
#include "reading/document.h"
#include "reading/table_reader.h"
#include "webhook/provider.h"

namespace semel::webhook {

void read_signature(reading::Reading& reading, const reading::Node& node, Provider& provider);
void read_event(reading::Reading& reading, const reading::Node* node, Provider& provider);
void read_handshake(reading::Reading& reading, const reading::Node& node, Provider& provider);

// When everything has been read without an error.
void check_claims(reading::Reading& reading, const std::vector<reading::Node>& signatures, const reading::Node* event,
                  const Provider& provider);

// What names an event: one or several expressions.
void read_ids(reading::TableReader& table, const std::vector<SignatureScheme>& schemes,
              std::vector<policy::Expression>& into);

// Shared by the readers. "" leaves the target empty.
void read_expression(reading::TableReader& table, std::string_view key, policy::ExpressionUse use,
                     std::optional<policy::Expression>& into);

}  // namespace semel::webhook
