// The readers of a provider's tables, one per table.
#pragma once

#include <string_view>

#include "policy/document.h"
#include "policy/expression.h"
#include "policy/provider.h"
#include "policy/table_reader.h"

namespace semel {

void read_signature(Reading& reading, const Node& node, Provider& provider);
void read_event(Reading& reading, const Node* node, Provider& provider);
void read_handshake(Reading& reading, const Node& node, Provider& provider);

// Shared by them. "" leaves the target empty.
void read_expression(TableReader& table, std::string_view key, ExpressionUse use, std::optional<Expression>& into);

}  // namespace semel
