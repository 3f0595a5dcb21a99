// Version 6 of the schema: what runs under a holder that never heard of it.
#include <string_view>

#include "store/postgres/schema_6.h"

namespace semel::store::postgres {

// A holder looks for what it doubts every second, and takes what it has found as any other: what was taken must not be
// put back for the doubt. Only the auditor asks for that, too, when it has been running for longer than any call takes.
const std::string_view reclaim_6 = R"sql(
-- Deliveries that run under this holder, though it does not know of them: they wait again, and nothing was sent. Those
-- that run since they were accepted; and those that were taken longer than `taken_ms` ago, if that is not null. Answers
-- the events that are there, and of which none such is left.
CREATE FUNCTION semel.reclaim_6(believed text, patience_ms integer, me bigint, ids bytea[], taken_ms bigint)
RETURNS SETOF bytea
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  alive boolean := semel.inbox_enter_3(believed, patience_ms, me);
  t bigint := semel.inbox_now_3();
  event bytea;
  at_place bigint;
  is_whole boolean;
BEGIN
  FOR event IN SELECT e.id FROM unnest(ids) AS i(id) JOIN semel.inbox_events e ON e.id = i.id LOOP
    is_whole := true;
    FOR at_place IN
      SELECT d.place FROM semel.inbox_deliveries d
       WHERE d.id = event AND d.state = 2 AND d.holder = me AND (NOT d.taken OR d.changed < t - taken_ms)
    LOOP
      IF NOT semel.inbox_try_3(event, at_place) THEN
        is_whole := false;
        CONTINUE;
      END IF;
      PERFORM FROM semel.inbox_deliveries d
        WHERE d.id = event AND d.place = at_place AND d.state = 2 AND d.holder = me
          AND (NOT d.taken OR d.changed < t - taken_ms);
      CONTINUE WHEN NOT FOUND;
      PERFORM semel.inbox_put_back_3(event, at_place, 0, '{}', 'the answer of the store was lost', t);
    END LOOP;
    IF is_whole THEN RETURN NEXT event; END IF;
  END LOOP;
END
$$;

-- For gateways of the versions before. They go on for ten minutes to ask for what they doubted, and do not say whether
-- it is the auditor that asks.
CREATE OR REPLACE FUNCTION semel.reclaim_3(believed text, patience_ms integer, me bigint, ids bytea[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN (SELECT count(*) FROM semel.reclaim_6(believed, patience_ms, me, ids, 660000));
END
$$;
)sql";

}  // namespace semel::store::postgres
