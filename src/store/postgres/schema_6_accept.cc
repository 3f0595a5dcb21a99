// Version 6 of the schema: what is told to a call that is sent again, because the answer to its event was lost.
//
// The event may have filled the inbox: it is its own, and no duplicate. It may have waited, and been taken meanwhile,
// here or by another gateway: such a delivery is told as waiting, because its attempt is not the caller's to begin.
#include <string_view>

#include "store/postgres/schema_6.h"

namespace semel::store::postgres {

// Replaces that of schema_3_accept.cc, where columns and verdicts are explained.
const std::string_view accept_6 = R"sql(
CREATE OR REPLACE FUNCTION semel.accept_3(
  believed text, patience_ms integer, me bigint, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[],
  owners bigint[], ttls_ms bigint[], fences bigint[], responses bytea[], events bytea[], sources text[], types bytea[],
  kinds bigint[], objects bytea[], stamps bytea[], sorts bytea[], reorders_ms bigint[], blocking boolean[],
  parcels bytea[], sizes bigint[], depths_max bigint[], bytes_max bigint[], retains_ms bigint[], widths bigint[],
  to_rows bigint[], to_dests text[], to_rooms boolean[], to_skips bytea[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, n bigint, verdict bigint, expires_ms bigint, states text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  alive boolean := semel.inbox_enter_3(believed, patience_ms, me);
  now_at timestamptz := date_trunc('milliseconds', clock_timestamp());
  t bigint := floor(extract(epoch FROM now_at) * 1000);
  count_all integer := cardinality(ids);
  fits boolean[] := array_fill(true, ARRAY[count_all]);
  counted boolean[] := array_fill(false, ARRAY[count_all]);
  won bytea[];
  fresh boolean[] := array_fill(false, ARRAY[count_all]);
  expiries bigint[] := array_fill(0::bigint, ARRAY[count_all]);
  depth numeric;
  kept numeric;
  i integer;
  k record;
  e semel.inbox_events;
  r record;
  code bigint;
BEGIN
  mine := false;
  IF NOT alive THEN
    FOR i IN 1..count_all LOOP n := i; verdict := 6; RETURN NEXT; END LOOP;
    RETURN;
  END IF;

  -- Whether there is room is looked at only where the caller believes that it is short. An event that is there already
  -- needs none: it is among the figures.
  FOR i IN 1..count_all LOOP
    CONTINUE WHEN depths_max[i] IS NULL;
    counted[i] := EXISTS (SELECT FROM semel.inbox_events a WHERE a.id = events[i]);
    CONTINUE WHEN counted[i];
    SELECT coalesce(sum(c.waiting + c.running + c.unknown) FILTER (WHERE c.source = sources[i]), 0),
           coalesce(sum(c.bytes), 0)
      INTO depth, kept FROM semel.inbox_counts c;
    SELECT depth + coalesce(sum(b.width) FILTER (WHERE b.source = sources[i]), 0), kept + coalesce(sum(b.size), 0)
      INTO depth, kept
      FROM unnest(sources[1:i - 1], widths[1:i - 1], sizes[1:i - 1], fits[1:i - 1], counted[1:i - 1])
        AS b(source, width, size, fits, counted)
     WHERE b.fits AND NOT b.counted;
    CONTINUE WHEN depth + widths[i] <= depths_max[i] AND kept + sizes[i] <= bytes_max[i];
    fits[i] := false;
    SELECT * INTO k FROM semel.keys WHERE keys.id = ids[i];
    IF FOUND AND (CASE k.state WHEN 'done' THEN k.expires_at > now_at WHEN 'running' THEN k.lease_until > now_at
                  ELSE false END) THEN
      RETURN QUERY SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at,
                          k.lease_until, k.expires_at, k.response, now_at, i::bigint, 1::bigint, 0::bigint, ''::text;
    ELSE
      RETURN QUERY SELECT NULL::bytea, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint,
                          NULL::bytea, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, now_at,
                          i::bigint, CASE WHEN depth + widths[i] > depths_max[i] THEN 2 ELSE 3 END::bigint, 0::bigint,
                          ''::text;
    END IF;
  END LOOP;

  WITH fresh_keys AS (
    INSERT INTO semel.keys AS k
      (id, space, scope, state, fence, owner, fingerprint, claimed_at, lease_until, expires_at, response)
    SELECT b.id, b.space, b.scope, 'done', b.fence, b.owner, b.fingerprint, now_at, now_at + interval '30 seconds',
           now_at + b.ttl * interval '1 millisecond', b.response
      FROM unnest(ids, spaces, scopes, fingerprints, owners, ttls_ms, fences, responses, fits)
        AS b(id, space, scope, fingerprint, owner, ttl, fence, response, fits)
     WHERE b.fits AND b.fence = 1
    ON CONFLICT (id) DO NOTHING
    RETURNING k.id)
  SELECT coalesce(array_agg(f.id), '{}') INTO won FROM fresh_keys f;

  IF cardinality(won) = count_all THEN
    fresh := array_fill(true, ARRAY[count_all]);
    SELECT array_agg(t + b.ttl ORDER BY b.n) INTO expiries FROM unnest(ttls_ms) WITH ORDINALITY AS b(ttl, n);
  ELSE
    FOR i IN 1..count_all LOOP
      CONTINUE WHEN NOT fits[i];
      IF ids[i] = ANY (won) THEN
        fresh[i] := true;
        expiries[i] := t + ttls_ms[i];
        CONTINUE;
      END IF;
      IF EXISTS (SELECT FROM semel.inbox_events a WHERE a.id = events[i]) THEN
        UPDATE semel.keys k SET touched = k.touched + 1 WHERE k.id = ids[i];
        RETURN QUERY SELECT NULL::bytea, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint,
                            NULL::bigint, NULL::bytea, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz,
                            NULL::bytea, now_at, i::bigint, 0::bigint, a.expires_at,
                            (SELECT string_agg(CASE WHEN d.in_line THEN 'l'
                                                    WHEN d.state = 2 AND (d.taken OR d.holder <> me) THEN '1'
                                                    ELSE d.state::text END, '' ORDER BY d.place)
                               FROM semel.inbox_deliveries d WHERE d.id = a.id)
                       FROM semel.inbox_events a WHERE a.id = events[i];
        CONTINUE;
      END IF;
      SELECT c.* INTO k
        FROM semel.claim_2(believed, patience_ms, ARRAY[ids[i]], ARRAY[spaces[i]], ARRAY[scopes[i]],
                           ARRAY[fingerprints[i]], ARRAY[owners[i]], ARRAY[30000::bigint], ARRAY[ttls_ms[i]],
                           ARRAY[true], ARRAY[NULL::bigint], ARRAY[NULL::bigint]) c
       ORDER BY c.mine DESC LIMIT 1;
      IF NOT FOUND THEN
        code := 5;
      ELSIF NOT k.mine THEN
        code := 1;
      ELSIF k.fence <> fences[i] THEN
        code := 4;
      ELSE
        UPDATE semel.keys k2 SET state = 'done', response = responses[i] WHERE k2.id = ids[i];
        fresh[i] := true;
        expiries[i] := floor(extract(epoch FROM k.expires_at) * 1000);
        CONTINUE;
      END IF;
      RETURN QUERY SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at,
                          k.lease_until, k.expires_at, k.response, now_at, i::bigint, code, 0::bigint, ''::text;
    END LOOP;
  END IF;
  IF NOT (true = ANY (fresh)) THEN RETURN; END IF;

  INSERT INTO semel.inbox_events
    (id, key, expires_at, bytes, reorder_ms, kind, width, blocks, source, type, object, stamp, sort)
  SELECT b.event, b.id, b.expiry, greatest(b.size, 1), b.reorder, b.kind, b.width, b.blocks, b.source, b.type, b.object,
         b.stamp, b.sort
    FROM unnest(events, ids, expiries, sizes, reorders_ms, kinds, widths, blocking, sources, types, objects, stamps,
                sorts, fresh)
      AS b(event, id, expiry, size, reorder, kind, width, blocks, source, type, object, stamp, sort, fresh)
   WHERE b.fresh;
  INSERT INTO semel.inbox_parcels (id, parcel)
  SELECT b.event, b.parcel FROM unnest(events, parcels, fresh) AS b(event, parcel, fresh) WHERE b.fresh;

  -- Deliveries of events without an order need nobody else.
  INSERT INTO semel.inbox_deliveries (id, place, dest, state, holder, attempt, due, since, changed, drop_at, why)
  SELECT events[d.row], row_number() OVER (PARTITION BY d.row ORDER BY d.ordinal) - 1, d.dest,
         CASE WHEN d.skip <> '' THEN 6 WHEN d.room AND kinds[d.row] = 0 THEN 2 ELSE 1 END, me,
         CASE WHEN d.skip = '' AND d.room AND kinds[d.row] = 0 THEN 1 ELSE 0 END, t, t, t,
         CASE WHEN d.skip <> '' THEN t + retains_ms[d.row] ELSE 0 END, d.skip
    FROM unnest(to_rows, to_dests, to_rooms, to_skips) WITH ORDINALITY AS d(row, dest, room, skip, ordinal)
   WHERE fresh[d.row];
  INSERT INTO semel.inbox_due (dest, urgency, at, id, place)
  SELECT d.dest, 0, t, d.id, d.place
    FROM unnest(events, kinds, fresh) AS b(event, kind, fresh) JOIN semel.inbox_deliveries d ON d.id = b.event
   WHERE b.fresh AND b.kind = 0 AND d.state = 1;

  IF EXISTS (SELECT FROM unnest(kinds, fresh) AS b(kind, fresh) WHERE b.kind <> 0 AND b.fresh) THEN
    PERFORM semel.inbox_lock_3((SELECT array_agg(b.event) FROM unnest(events, kinds, fresh) AS b(event, kind, fresh)
                                 WHERE b.kind <> 0 AND b.fresh));
    t := semel.inbox_now_3();
    FOR r IN
      SELECT d.row, d.room, d.skip, w.id, w.place, w.dest
        FROM unnest(to_rows, to_dests, to_rooms, to_skips) AS d(row, dest, room, skip)
        JOIN semel.inbox_deliveries w ON w.id = events[d.row] AND w.dest = d.dest
       WHERE fresh[d.row] AND kinds[d.row] <> 0 AND d.skip = '' ORDER BY events[d.row], w.place
    LOOP
      SELECT * INTO e FROM semel.inbox_events a WHERE a.id = r.id;
      code := semel.inbox_place_3(e, r.dest, r.place, r.room, t);
      UPDATE semel.inbox_deliveries d
         SET state = abs(code), in_line = (code = -1), attempt = (code = 2)::int, due = t + e.reorder_ms,
             drop_at = CASE WHEN code = 5 THEN t + retains_ms[r.row] ELSE 0 END
       WHERE d.id = r.id AND d.place = r.place;
      IF code = 1 THEN
        INSERT INTO semel.inbox_due (dest, urgency, at, id, place) VALUES (r.dest, 0, t + e.reorder_ms, r.id, r.place);
      END IF;
    END LOOP;
  END IF;

  INSERT INTO semel.inbox_counts
    (source, dest, accepted, waiting, running, superseded, skipped, bytes)
  SELECT b.source, d.dest, count(*), count(*) FILTER (WHERE d.state = 1), count(*) FILTER (WHERE d.state = 2),
         count(*) FILTER (WHERE d.state = 5), count(*) FILTER (WHERE d.state = 6),
         coalesce(sum(greatest(b.size, 1)) FILTER (WHERE d.place = 0), 0)
    FROM unnest(events, sources, sizes, fresh) AS b(event, source, size, fresh)
    JOIN semel.inbox_deliveries d ON d.id = b.event
   WHERE b.fresh
   GROUP BY b.source, d.dest;
  IF EXISTS (SELECT FROM unnest(kinds, fresh) AS b(kind, fresh) WHERE b.kind <> 0 AND b.fresh)
     OR EXISTS (SELECT FROM unnest(to_skips) AS s(skip) WHERE s.skip <> '') THEN
    PERFORM semel.inbox_plan_drop_3((SELECT array_agg(b.event) FROM unnest(events, fresh) AS b(event, fresh)
                                      WHERE b.fresh));
  END IF;
  RETURN QUERY
    SELECT NULL::bytea, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint,
           NULL::bytea, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, now_at, b.n, 0::bigint,
           b.expiry,
           CASE WHEN b.kind <> 0
                THEN (SELECT string_agg(CASE WHEN d.in_line THEN 'l' ELSE d.state::text END, '' ORDER BY d.place)
                        FROM semel.inbox_deliveries d WHERE d.id = b.event)
           END
      FROM unnest(events, expiries, kinds, fresh) WITH ORDINALITY AS b(event, expiry, kind, fresh, n)
     WHERE b.fresh;
END
$$;
)sql";

}  // namespace semel::store::postgres
