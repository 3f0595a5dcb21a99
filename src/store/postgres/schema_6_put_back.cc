// Version 6 of the schema: where a lost answer is probed, what an operator sent again is not tried once more by itself.
//
// A probe could not tell such an attempt from what was there before. So if its gateway dies, it waits for an operator,
// as it does if its answer is lost (docs/inbox.md).
#include <string_view>

#include "store/postgres/schema_6.h"

namespace semel::store::postgres {

// `holding` are names of destinations. With "replay " in front of it, which no name has, only what an operator sent
// again is meant. So gateways of the version before, and adopt_3, go on with what they know.
const std::string_view put_back_6 = R"sql(
CREATE OR REPLACE FUNCTION semel.inbox_put_back_3(
  event bytea, the_place bigint, rest_ms bigint, holding text[], reason text, t bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  e semel.inbox_events;
  was semel.inbox_deliveries;
  became semel.inbox_deliveries;
BEGIN
  SELECT * INTO e FROM semel.inbox_events a WHERE a.id = event;
  SELECT * INTO was FROM semel.inbox_deliveries d WHERE d.id = event AND d.place = the_place;
  UPDATE semel.inbox_deliveries d
     SET state = CASE WHEN d.dest = ANY (holding) OR (d.urgency = 2 AND 'replay ' || d.dest = ANY (holding))
                      THEN 8 ELSE 1 END,
         urgency = CASE WHEN d.urgency = 2 THEN 2 ELSE 1 END, due = t + rest_ms, changed = t,
         why = convert_to(reason, 'UTF8')
   WHERE d.id = event AND d.place = the_place RETURNING * INTO became;
  PERFORM semel.inbox_moved_3(e, was, became, t);
END
$$;
)sql";

}  // namespace semel::store::postgres
