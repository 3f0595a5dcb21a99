// A route: which requests are guarded, by which key, and where they go. conf/semel.toml explains each member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/expression.h"
#include "policy/pattern.h"
#include "policy/target.h"
#include <semel/fingerprint.h>
#include <semel/http_request.h>

namespace semel::policy {

enum class Mode : std::uint8_t { enforce, observe };

struct Route {
  Pattern path;
  Pattern plain_path;  // as the most lenient server reads it; see spelling.h
  std::vector<std::string> methods{"POST", "PATCH"};
  Target target;
  KeyMode key = KeyMode::required;
  Expression key_from = expression("{header:Idempotency-Key}");
  Expression scope = expression("{header:Authorization}");
  std::string space = "default";
  BodyForm fingerprint = BodyForm::json;
  IgnoreList ignore;
  std::optional<Expression> probe;
  std::optional<Expression> revalidate;  // the target to ask before a replay; null if none is asked
  Mode mode = Mode::enforce;
  bool resolved = false;  // a resolver asks about its unknown keys, so what it needs for that is kept
};

}  // namespace semel::policy
