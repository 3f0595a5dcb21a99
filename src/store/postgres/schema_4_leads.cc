// Version 4 of the schema: who alone calls a destination that takes one attempt at a time.
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

const std::string_view leads_4 = R"sql(
CREATE TABLE semel.inbox_leads (
  dest    text PRIMARY KEY,
  holder  bigint NOT NULL,
  free_at bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE semel.inbox_leads IS 'The one holder that calls a destination with concurrency = 1, as long as it lives';
COMMENT ON COLUMN semel.inbox_leads.free_at IS 'Not before then: an attempt of the one before may still be at work';

-- Of these destinations, those that this holder alone may call now; none if it is dead. What is not among them it gives
-- up. One whose holder is dead is taken over, and rests for a lease.
CREATE FUNCTION semel.lead_4(believed text, patience_ms integer, me bigint, dests text[], rest_ms bigint)
RETURNS TABLE (dest text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  alive boolean := semel.inbox_enter_3(believed, patience_ms, me);
  t bigint := semel.inbox_now_3();
BEGIN
  IF NOT alive THEN RETURN; END IF;
  DELETE FROM semel.inbox_leads l WHERE l.holder = me AND NOT l.dest = ANY (dests);
  INSERT INTO semel.inbox_leads AS l (dest, holder, free_at)
  SELECT d.dest, me, t FROM unnest(dests) AS d(dest)
   WHERE NOT EXISTS (SELECT FROM semel.inbox_leads a JOIN semel.inbox_holders h ON h.holder = a.holder
                      WHERE a.dest = d.dest AND NOT h.dead AND h.alive_until > t)
   ORDER BY d.dest
  ON CONFLICT (dest) DO UPDATE SET holder = me, free_at = t + rest_ms
   WHERE NOT EXISTS (SELECT FROM semel.inbox_holders h
                      WHERE h.holder = l.holder AND NOT h.dead AND h.alive_until > t);
  RETURN QUERY
    SELECT l.dest FROM semel.inbox_leads l
     WHERE l.holder = me AND l.free_at <= semel.inbox_now_3() AND l.dest = ANY (dests);
END
$$;
)sql";

}  // namespace semel::store::postgres
