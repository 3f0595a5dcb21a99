// The readers of a provider's tables, one per table.
#pragma once

#include <string_view>

#include "policy/expression.h"
#include "reading/document.h"
#include "reading/table_reader.h"
#include "webhook/provider.h"

namespace semel::webhook {

void read_signature(reading::Reading& reading, const reading::Node& node, Provider& provider);
void read_event(reading::Reading& reading, const reading::Node* node, Provider& provider);
void read_handshake(reading::Reading& reading, const reading::Node& node, Provider& provider);

// Shared by the readers. "" leaves the target empty.
void read_expression(reading::TableReader& table, std::string_view key, policy::ExpressionUse use,
                     std::optional<policy::Expression>& into);

}  // namespace semel::webhook
