// Version 5 of the schema: what is to be dropped and the figures are looked at from where they begin
// (schema_5_begins.cc); an event that holds up its object is not dropped.
#include <string_view>

#include "store/postgres/schema_5.h"

namespace semel::store::postgres {

const std::string_view sweep_5 = R"sql(
-- Each change of the figures has a time. All who read or change them go through the view.
ALTER TABLE semel.inbox_counts RENAME TO inbox_figures;
ALTER TABLE semel.inbox_figures ADD COLUMN at bigint NOT NULL DEFAULT semel.inbox_now_3();
CREATE INDEX inbox_figures_at ON semel.inbox_figures (at);
CREATE VIEW semel.inbox_counts AS
  SELECT f.accepted, f.waiting, f.running, f.done, f.dead, f.superseded, f.skipped, f.discarded, f.unknown, f.bytes,
         f.source, f.dest
    FROM semel.inbox_figures f
   WHERE f.at >= coalesce((SELECT b.begins FROM semel.inbox_begins b WHERE b.queue = 'figures' AND b.urgency = 0), 0);
COMMENT ON TABLE semel.inbox_figures IS 'Changes of the figures; added, never updated, and folded now and then';
COMMENT ON VIEW semel.inbox_counts IS 'How many deliveries are in which state: the sum of all rows';

CREATE OR REPLACE FUNCTION semel.sweep_inbox_3(believed text, patience_ms integer, count_max bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
  dropped bigint := 0;
  begin_at bigint := semel.inbox_begin_5('drops', 0);
  b semel.inbox_begins;
  blocks boolean;
  r record;
  e semel.inbox_events;
BEGIN
  FOR r IN SELECT q.at, q.id FROM semel.inbox_drops q WHERE q.at BETWEEN begin_at AND t
            ORDER BY q.at, q.id LIMIT count_max FOR UPDATE SKIP LOCKED LOOP
    SELECT * INTO e FROM semel.inbox_events a WHERE a.id = r.id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      CONTINUE WHEN EXISTS (SELECT FROM semel.inbox_events a WHERE a.id = r.id);
      DELETE FROM semel.inbox_drops q WHERE q.at = r.at AND q.id = r.id;
      CONTINUE;
    END IF;
    DELETE FROM semel.inbox_drops q WHERE q.at = r.at AND q.id = r.id;
    dropped := dropped + 1;
    -- It has been sent again since.
    CONTINUE WHEN EXISTS (SELECT FROM semel.inbox_deliveries d WHERE d.id = r.id AND d.state IN (1, 2, 8));
    CONTINUE WHEN e.bytes > 0 AND (SELECT max(d.drop_at) FROM semel.inbox_deliveries d WHERE d.id = r.id) > r.at;
    IF e.bytes > 0 THEN PERFORM semel.inbox_drop_body_3(e); END IF;
    -- What holds up its object is kept until an operator decides.
    blocks := e.blocks AND EXISTS (SELECT FROM semel.inbox_deliveries d WHERE d.id = r.id AND d.state = 4);
    IF e.expires_at <= t AND NOT blocks THEN
      DELETE FROM semel.inbox_deliveries d WHERE d.id = r.id;
      DELETE FROM semel.inbox_events a WHERE a.id = r.id;
    ELSE
      INSERT INTO semel.inbox_drops (at, id)
      VALUES (greatest(e.expires_at, CASE WHEN blocks THEN t + 3600000 END), r.id) ON CONFLICT DO NOTHING;
    END IF;
  END LOOP;
  b := semel.inbox_may_move_5('drops', 0, t);
  IF b.queue IS NOT NULL THEN
    PERFORM semel.inbox_move_5(b, (SELECT q.at FROM semel.inbox_drops q WHERE q.at >= b.begins
                                    ORDER BY q.at, q.id LIMIT 1), t);
  END IF;
  DELETE FROM semel.inbox_newest n WHERE (n.dest, n.object) IN (
    SELECT o.dest, o.object FROM semel.inbox_newest o WHERE o.until <= t ORDER BY o.until LIMIT count_max
       FOR UPDATE SKIP LOCKED);
  IF (SELECT count(*) - count(DISTINCT (c.source, c.dest)) >= 64 FROM semel.inbox_counts c)
     AND pg_try_advisory_xact_lock(730945533, 0) THEN
    WITH gone AS (DELETE FROM semel.inbox_counts RETURNING *)
    INSERT INTO semel.inbox_counts
      (source, dest, accepted, waiting, running, done, dead, superseded, skipped, discarded, unknown, bytes)
    SELECT g.source, g.dest, sum(g.accepted), sum(g.waiting), sum(g.running), sum(g.done), sum(g.dead),
           sum(g.superseded), sum(g.skipped), sum(g.discarded), sum(g.unknown), sum(g.bytes)
      FROM gone g GROUP BY g.source, g.dest;
  END IF;
  b := semel.inbox_may_move_5('figures', 0, t);
  IF b.queue IS NOT NULL THEN
    PERFORM semel.inbox_move_5(b, (SELECT f.at FROM semel.inbox_figures f WHERE f.at >= b.begins
                                    ORDER BY f.at LIMIT 1), t);
  END IF;
  RETURN dropped;
END
$$;
)sql";

}  // namespace semel::store::postgres
