// Version 5 of the schema: an inbox that stays as fast as it is while the server cannot clean up, and that drops no
// event that holds up its object.
//
// Nothing that a gateway calls has another name or another meaning: functions of version 3 and 4 are replaced, and
// gateways of the version before go on with them.
#include "store/postgres/schema_5.h"

#include <array>
#include <span>
#include <string_view>

namespace semel::store::postgres {

// The settings of the functions that were replaced, as in schema_3.cc.
const std::string_view settings_5 = R"sql(
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p
            WHERE p.pronamespace = 'semel'::regnamespace AND p.proname IN ('take_3', 'sweep_inbox_3')
  LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (5);
)sql";

std::span<const std::string_view> parts_5() {
  static const std::array parts{begins_5, take_5, sweep_5, settings_5};
  return parts;
}

}  // namespace semel::store::postgres
