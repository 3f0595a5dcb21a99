// Version 4 of the schema: bulk work on the inbox, limits that hold for all gateways together, notes, what an
// auditor asks for, and how a copy of a server is told from its original. Each part has a file of its own,
// schema_4_<part>.cc.
#include "store/postgres/schema_4.h"

#include <array>
#include <span>
#include <string_view>

namespace semel::store::postgres {

// The settings of the functions of this version, as in schema_2.cc. Those named inbox_… are called by others only, and
// run with the rights and settings of these.
const std::string_view settings_4 = R"sql(
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p
            WHERE p.pronamespace = 'semel'::regnamespace AND p.proname NOT LIKE 'inbox\_%'
              AND p.proname LIKE '%\_4'
  LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (4);
)sql";

std::span<const std::string_view> parts_4() {
  static const std::array parts{dead_4, notes_4, roll_4, jobs_4, job_steps_4, job_rows_4, leads_4, beat_4, settings_4};
  return parts;
}

}  // namespace semel::store::postgres
