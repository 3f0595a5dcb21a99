-- Version 1 of the schema as it was, complete: what a database in the field has before `semel migrate` upgrades it.

CREATE SCHEMA IF NOT EXISTS semel;
COMMENT ON SCHEMA semel IS 'Semel: which keys are claimed, and how each claim ended';

CREATE TABLE semel.schema_version (
  version    integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE semel.shards (
  shard        uuid PRIMARY KEY,
  here         boolean NOT NULL,
  former_until timestamptz
);
COMMENT ON TABLE semel.shards IS 'The databases that share out the keys; this one is the one that is here';
COMMENT ON COLUMN semel.shards.former_until IS
  'Set while keys are still looked for where the smaller set of before, which this shard was one of, had put them';
INSERT INTO semel.shards (shard, here) VALUES (gen_random_uuid(), true);

CREATE TYPE semel.key_state AS ENUM ('running', 'done', 'unknown', 'released');

CREATE TABLE semel.keys (
  claimed_at  timestamptz NOT NULL,
  lease_until timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  fence       bigint NOT NULL,
  owner       bigint NOT NULL,
  state       semel.key_state NOT NULL,
  touched     integer NOT NULL DEFAULT 0,
  waited      boolean NOT NULL DEFAULT false,
  space       text NOT NULL,
  scope       bytea NOT NULL,
  id          bytea NOT NULL,
  fingerprint bytea NOT NULL,
  response    bytea,
  CONSTRAINT keys_pkey PRIMARY KEY (id)
) WITH (
  fillfactor = 25,
  vacuum_truncate = off,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_cost_limit = 2000,
  toast.vacuum_truncate = off,
  toast.autovacuum_vacuum_scale_factor = 0.02,
  toast.autovacuum_vacuum_cost_delay = 1,
  toast.autovacuum_vacuum_cost_limit = 2000
);
CREATE INDEX keys_expires_at ON semel.keys (expires_at);
ALTER TABLE semel.keys
  ALTER COLUMN id SET STORAGE PLAIN,
  ALTER COLUMN scope SET STORAGE PLAIN,
  ALTER COLUMN fingerprint SET STORAGE PLAIN,
  ALTER COLUMN space SET STORAGE PLAIN,
  ALTER COLUMN response SET STORAGE EXTERNAL;

COMMENT ON TABLE semel.keys IS 'One row per key that is claimed or has ended and not yet expired';
COMMENT ON COLUMN semel.keys.claimed_at IS 'When the present claim was made';
COMMENT ON COLUMN semel.keys.lease_until IS 'A running row is of unknown outcome from here on';
COMMENT ON COLUMN semel.keys.expires_at IS 'The row counts as absent from here on; fixed by the claim';
COMMENT ON COLUMN semel.keys.fence IS 'Number of the claim; grows with each one';
COMMENT ON COLUMN semel.keys.owner IS 'Random token of the claim, so that a lost answer can be asked for again';
COMMENT ON COLUMN semel.keys.touched IS 'Counts writes that only made sure that the row is durable';
COMMENT ON COLUMN semel.keys.waited IS 'Somebody on another gateway waits for the end';
COMMENT ON COLUMN semel.keys.space IS 'Namespace of the key';
COMMENT ON COLUMN semel.keys.scope IS 'Hash of the scope (tenant); the same for every key of one scope';
COMMENT ON COLUMN semel.keys.id IS 'Hash of namespace, scope and key';
COMMENT ON COLUMN semel.keys.fingerprint IS 'Hash of the request';
COMMENT ON COLUMN semel.keys.response IS 'The answer to replay, as in docs/record-format.md';

CREATE FUNCTION semel.claim_1(
  patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  patience text := set_config('lock_timeout', patience_ms::text, true);  -- cheaper than PERFORM, which starts a plan
  t timestamptz;
  n bigint;
  wanted bigint := cardinality(ids);
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'this server is a replica' USING ERRCODE = 'read_only_sql_transaction';
  END IF;

  -- The unique index is the judge of keys that nobody has.
  t := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
    INSERT INTO semel.keys AS k
      (id, space, scope, state, fence, owner, fingerprint, claimed_at, lease_until, expires_at)
    SELECT i.id, i.space, i.scope, 'running', 1, i.owner, i.fingerprint, t,
           t + i.lease * interval '1 millisecond', t + i.ttl * interval '1 millisecond'
      FROM unnest(ids, spaces, scopes, fingerprints, owners, leases_ms, ttls_ms)
        AS i(id, space, scope, fingerprint, owner, lease, ttl)
    ON CONFLICT (id) DO NOTHING
    RETURNING k.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
              k.lease_until, k.expires_at, NULL::bytea, t;
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  IF wanted = 0 THEN RETURN; END IF;

  -- What is held, and stays so whatever is on its way: an end, or another's living claim. Nothing is locked.
  RETURN QUERY
    SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at, k.lease_until,
           k.expires_at, k.response, date_trunc('milliseconds', clock_timestamp())
      FROM unnest(ids, fingerprints, owners, takes, over_fences, over_owners)
        AS i(id, fingerprint, owner, takes, over_fence, over_owner)
      JOIN semel.keys k ON k.id = i.id
     WHERE CASE k.state
             WHEN 'done' THEN k.expires_at > clock_timestamp()
             WHEN 'running' THEN k.lease_until > clock_timestamp() AND k.owner <> i.owner
             WHEN 'unknown' THEN k.expires_at > clock_timestamp()
               AND NOT (i.takes AND k.fingerprint = i.fingerprint
                        AND (i.over_fence IS NULL OR (k.fence = i.over_fence AND k.owner = i.over_owner)))
             ELSE false
           END;
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  -- Those just granted are not among them: they run, and are the owner's own.
  IF wanted = 0 THEN RETURN; END IF;

  -- What is free although it has a row: expired, released, or of unknown outcome and to be taken over.
  t := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
    UPDATE semel.keys k
       SET space = i.space, scope = i.scope, state = 'running', owner = i.owner, fingerprint = i.fingerprint,
           fence = CASE WHEN k.expires_at <= clock_timestamp()
                             AND (k.state <> 'running' OR k.lease_until <= clock_timestamp())
                        THEN 1 ELSE k.fence + 1 END,
           claimed_at = t, lease_until = t + i.lease * interval '1 millisecond',
           expires_at = t + i.ttl * interval '1 millisecond', response = NULL, touched = 0,
           waited = false
      FROM unnest(ids, spaces, scopes, fingerprints, owners, leases_ms, ttls_ms, takes, over_fences, over_owners)
        AS i(id, space, scope, fingerprint, owner, lease, ttl, takes, over_fence, over_owner)
     WHERE k.id = i.id
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND ((k.expires_at <= clock_timestamp() AND (k.state <> 'running' OR k.lease_until <= clock_timestamp()))
            OR k.state = 'released'
            OR ((k.state = 'unknown' OR (k.state = 'running' AND k.lease_until <= clock_timestamp()))
                AND i.takes AND k.fingerprint = i.fingerprint
                AND (i.over_fence IS NULL OR (k.fence = i.over_fence AND k.owner = i.over_owner))))
    RETURNING k.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
              k.lease_until, k.expires_at, NULL::bytea, t;
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  IF wanted = 0 THEN RETURN; END IF;

  -- The same owner asks again: its first answer was lost. That the row can be read does not say that it would survive
  -- a failover, so it is written again; when that is durable, so is what came before it.
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, owners) AS i(id, owner)
     WHERE k.id = i.id
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.owner = i.owner AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
              k.lease_until, k.expires_at, NULL::bytea, date_trunc('milliseconds', clock_timestamp());
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  IF wanted = 0 THEN RETURN; END IF;

  -- A lease that has lapsed and stands. The lock makes sure that no renewal is on its way.
  RETURN QUERY
    SELECT l.id, false, l.space, l.scope, l.state, l.fence, l.owner, l.fingerprint, l.claimed_at, l.lease_until,
           l.expires_at, l.response, date_trunc('milliseconds', clock_timestamp())
      FROM (SELECT k.*
              FROM unnest(ids) AS i(id) JOIN semel.keys k ON k.id = i.id
             WHERE k.state = 'running' AND k.lease_until <= clock_timestamp() AND k.expires_at > clock_timestamp()
               AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
               FOR SHARE OF k) AS l;
END
$$;

CREATE FUNCTION semel.claim_former_1(
  patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  here bigint[];
  lefts_ms bigint[];
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'this server is a replica' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  PERFORM set_config('lock_timeout', patience_ms::text, true);

  -- OFFSET 0 keeps the condition outside: every row is locked, also one that seems to have expired.
  SELECT array_agg(l.n ORDER BY l.n),
         array_agg(greatest(1, extract(epoch FROM l.expires_at - clock_timestamp()) * 1000)::bigint ORDER BY l.n)
    INTO here, lefts_ms
    FROM (SELECT i.n, k.state, k.lease_until, k.expires_at
            FROM unnest(ids) WITH ORDINALITY AS i(id, n) JOIN semel.keys k ON k.id = i.id
          OFFSET 0 FOR UPDATE OF k) AS l
   WHERE l.expires_at > clock_timestamp() OR (l.state = 'running' AND l.lease_until > clock_timestamp());

  RETURN QUERY
    SELECT i.id, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint, NULL::bytea,
           NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, clock_timestamp()
      FROM unnest(ids) WITH ORDINALITY AS i(id, n)
     WHERE here IS NULL OR i.n <> ALL (here);
  IF here IS NULL THEN RETURN; END IF;

  RETURN QUERY
    SELECT c.*
      FROM (SELECT array_agg(ids[h.n] ORDER BY h.n) AS a_ids, array_agg(spaces[h.n] ORDER BY h.n) AS a_spaces,
                   array_agg(scopes[h.n] ORDER BY h.n) AS a_scopes,
                   array_agg(fingerprints[h.n] ORDER BY h.n) AS a_fingerprints,
                   array_agg(owners[h.n] ORDER BY h.n) AS a_owners, array_agg(leases_ms[h.n] ORDER BY h.n) AS a_leases,
                   array_agg(least(ttls_ms[h.n], h.left_ms) ORDER BY h.n) AS a_ttls,
                   array_agg(takes[h.n] ORDER BY h.n) AS a_takes, array_agg(over_fences[h.n] ORDER BY h.n) AS a_fences,
                   array_agg(over_owners[h.n] ORDER BY h.n) AS a_over_owners
              FROM unnest(here, lefts_ms) AS h(n, left_ms)) AS a,
           LATERAL semel.claim_1(patience_ms, a.a_ids, a.a_spaces, a.a_scopes, a.a_fingerprints, a.a_owners, a.a_leases,
                                 a.a_ttls, a.a_takes, a.a_fences, a.a_over_owners) AS c;
END
$$;

CREATE TABLE semel.objects (
  expires_at timestamptz NOT NULL,
  fence      bigint,
  owner      bigint,
  company    bigint,
  space      text NOT NULL,
  scope      bytea NOT NULL,
  id         bytea NOT NULL,
  event      bytea,
  stamp      bytea,
  newest     bytea,
  CONSTRAINT objects_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX objects_expires_at ON semel.objects (expires_at);

COMMENT ON TABLE semel.objects IS 'One row per object whose events are ordered';
COMMENT ON COLUMN semel.objects.id IS 'Hash of namespace, scope and object';
COMMENT ON COLUMN semel.objects.event IS 'The key whose claim was granted last, with its fence and owner';
COMMENT ON COLUMN semel.objects.stamp IS 'Stamp of that event, as bytes that sort; it counts once the event is done';
COMMENT ON COLUMN semel.objects.newest IS 'The highest stamp of the events that were done before that';
COMMENT ON COLUMN semel.objects.company IS 'Claims of one delivery have the same, and do not wait for each other';

-- As semel.claim_1, and two columns more: `verdict` is superseded, or busy, and then the row is that of `other`.
CREATE FUNCTION semel.claim_ordered_1(
  patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[],
  objects bytea[], stamps bytea[], companies bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, verdict text, other bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  t timestamptz;
  i record;
  k semel.keys;
  o semel.objects;
  h semel.keys;
  open_ids bytea[];
  had boolean;
  alive boolean;
  doubtful boolean;
  runs boolean;
  reached bytea;
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'this server is a replica' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  PERFORM set_config('lock_timeout', patience_ms::text, true);

  -- What is held and stays so needs no lock, and writes nothing.
  open_ids := ARRAY(
    SELECT i.id FROM unnest(ids, owners) AS i(id, owner)
     WHERE NOT EXISTS (
       SELECT FROM semel.keys k
        WHERE k.id = i.id
          AND CASE k.state
                WHEN 'done' THEN k.expires_at > clock_timestamp()
                WHEN 'running' THEN k.lease_until > clock_timestamp() AND k.owner <> i.owner
                ELSE false
              END));
  IF cardinality(open_ids) > 0 THEN
    INSERT INTO semel.objects (id, space, scope, expires_at)
    SELECT DISTINCT ON (i.object) i.object, i.space, i.scope, clock_timestamp() + i.ttl * interval '1 millisecond'
      FROM unnest(ids, spaces, scopes, ttls_ms, objects) AS i(id, space, scope, ttl, object)
     WHERE i.id = ANY (open_ids)
     ORDER BY i.object
    ON CONFLICT (id) DO NOTHING;
    PERFORM FROM (SELECT DISTINCT i.object FROM unnest(ids, objects) AS i(id, object)
                   WHERE i.id = ANY (open_ids) ORDER BY i.object) AS i
            JOIN semel.objects o ON o.id = i.object
             FOR UPDATE OF o;
    -- The events, and those that ran last: whatever is on its way to them has come when they are locked.
    PERFORM FROM (SELECT e.id FROM unnest(open_ids) AS e(id)
                  UNION
                  SELECT o.event FROM unnest(ids, objects) AS i(id, object) JOIN semel.objects o ON o.id = i.object
                   WHERE i.id = ANY (open_ids) AND o.event IS NOT NULL
                   ORDER BY 1) AS e
            JOIN semel.keys k ON k.id = e.id
             FOR NO KEY UPDATE OF k;
  END IF;

  FOR i IN
    SELECT * FROM unnest(ids, spaces, scopes, fingerprints, owners, leases_ms, ttls_ms, takes, over_fences,
                         over_owners, objects, stamps, companies)
      AS i(id, space, scope, fingerprint, owner, lease, ttl, takes, over_fence, over_owner, object, stamp, company)
  LOOP
    t := date_trunc('milliseconds', clock_timestamp());
    SELECT k.* INTO k FROM semel.keys k WHERE k.id = i.id;
    had := FOUND;
    alive := had AND (k.expires_at > t OR (k.state = 'running' AND k.lease_until > t));
    doubtful := alive AND (k.state = 'unknown' OR (k.state = 'running' AND k.lease_until <= t));
    -- An id without a row is asked for again: its key changed while it was looked at.
    CONTINUE WHEN NOT (i.id = ANY (open_ids)) AND (NOT alive OR doubtful OR k.state = 'released');
    IF alive AND k.state = 'running' AND NOT doubtful AND k.owner = i.owner THEN
      -- Written again, as in claim_1: that it can be read does not say that it would survive a failover.
      UPDATE semel.keys k SET touched = k.touched + 1 WHERE k.id = i.id;
      RETURN QUERY SELECT i.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
                          k.lease_until, k.expires_at, NULL::bytea, t, NULL::text, NULL::bytea;
      CONTINUE;
    END IF;
    IF alive AND k.state <> 'released'
       AND NOT (doubtful AND i.takes AND k.fingerprint = i.fingerprint
                AND (i.over_fence IS NULL OR (k.fence = i.over_fence AND k.owner = i.over_owner))) THEN
      RETURN QUERY SELECT i.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at,
                          k.lease_until, k.expires_at, k.response, t, NULL::text, NULL::bytea;
      CONTINUE;
    END IF;

    -- The key is free; now its object.
    SELECT o.* INTO o FROM semel.objects o WHERE o.id = i.object;
    CONTINUE WHEN NOT FOUND;
    reached := CASE WHEN o.expires_at > t THEN o.newest END;
    SELECT h.* INTO h FROM semel.keys h WHERE h.id = o.event AND h.fence = o.fence AND h.owner = o.owner;
    runs := FOUND AND h.state = 'running' AND h.lease_until > t;
    IF h.state = 'done' AND h.expires_at > t THEN reached := greatest(reached, o.stamp); END IF;
    IF i.stamp < reached THEN
      RETURN QUERY SELECT i.id, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint,
                          NULL::bytea, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, t,
                          'superseded', NULL::bytea;
      CONTINUE;
    END IF;
    IF runs AND NOT (i.company <> 0 AND i.company = o.company) THEN
      RETURN QUERY SELECT i.id, false, h.space, h.scope, h.state, h.fence, h.owner, h.fingerprint, h.claimed_at,
                          h.lease_until, h.expires_at, NULL::bytea, t, 'busy', h.id;
      CONTINUE;
    END IF;

    IF had THEN
      UPDATE semel.keys k
         SET space = i.space, scope = i.scope, state = 'running', owner = i.owner, fingerprint = i.fingerprint,
             fence = CASE WHEN alive THEN k.fence + 1 ELSE 1 END, claimed_at = t,
             lease_until = t + i.lease * interval '1 millisecond', expires_at = t + i.ttl * interval '1 millisecond',
             response = NULL, touched = 0, waited = false
       WHERE k.id = i.id
      RETURNING k.* INTO k;
    ELSE
      INSERT INTO semel.keys AS k
        (id, space, scope, state, fence, owner, fingerprint, claimed_at, lease_until, expires_at)
      VALUES (i.id, i.space, i.scope, 'running', 1, i.owner, i.fingerprint, t,
              t + i.lease * interval '1 millisecond', t + i.ttl * interval '1 millisecond')
      ON CONFLICT (id) DO NOTHING
      RETURNING k.* INTO k;
    END IF;
    CONTINUE WHEN NOT FOUND;
    UPDATE semel.objects o
       SET newest = reached, event = k.id, fence = k.fence, owner = k.owner,
           stamp = CASE WHEN runs THEN greatest(o.stamp, i.stamp) ELSE i.stamp END,
           company = CASE WHEN i.company <> 0 THEN i.company ELSE i.owner END,
           expires_at = greatest(o.expires_at, k.expires_at)
     WHERE o.id = i.object;
    RETURN QUERY SELECT i.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
                        k.lease_until, k.expires_at, NULL::bytea, t, NULL::text, NULL::bytea;
  END LOOP;
END
$$;

CREATE TABLE semel.identity (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  settled_at timestamptz,
  mark       bytea,
  wrapped    bytea,
  CHECK ((mark IS NULL) = (wrapped IS NULL)),
  CHECK (settled_at IS NOT NULL OR mark IS NULL)
);
COMMENT ON TABLE semel.identity IS
  'One row: the secret by which keys and scopes are named, or that they are plain hashes. Never changed once settled';
COMMENT ON COLUMN semel.identity.settled_at IS 'When the database was first used; absent: it was not';
COMMENT ON COLUMN semel.identity.mark IS 'Hash of the secret, the same in every shard; absent: plain hashes';
COMMENT ON COLUMN semel.identity.wrapped IS 'The secret, encrypted by one of store.encryption_keys';
INSERT INTO semel.identity DEFAULT VALUES;

CREATE FUNCTION semel.identity_1() RETURNS TABLE (settled boolean, mark bytea, wrapped bytea)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT i.settled_at IS NOT NULL, i.mark, i.wrapped FROM semel.identity i;
END
$$;

-- Settles on the secret, or without one on plain hashes, and answers what holds: this, or what another settled on
-- before. Where there are keys that nobody settled anything for, plain hashes are what they have.
CREATE FUNCTION semel.settle_1(new_mark bytea, new_wrapped bytea)
RETURNS TABLE (settled boolean, mark bytea, wrapped bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  fresh boolean;
BEGIN
  IF EXISTS (SELECT FROM semel.identity i WHERE i.settled_at IS NULL) THEN
    PERFORM set_config('lock_timeout', '4000', true);
    PERFORM pg_advisory_xact_lock(7309455313);
    fresh := NOT EXISTS (SELECT FROM semel.keys) AND NOT EXISTS (SELECT FROM semel.objects);
    UPDATE semel.identity i
       SET settled_at = clock_timestamp(),
           mark = CASE WHEN fresh THEN new_mark END, wrapped = CASE WHEN fresh THEN new_wrapped END
     WHERE i.settled_at IS NULL;
  END IF;
  RETURN QUERY SELECT i.settled_at IS NOT NULL, i.mark, i.wrapped FROM semel.identity i;
END
$$;

-- The same secret, encrypted by another key; false: somebody else was first.
CREATE FUNCTION semel.rewrap_1(known_wrapped bytea, new_wrapped bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  UPDATE semel.identity i SET wrapped = new_wrapped WHERE i.wrapped = known_wrapped;
  RETURN FOUND;
END
$$;

-- For those who know no secret, before they claim: true, or an error. It holds until the end of the transaction.
CREATE FUNCTION semel.plain_1() RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM semel.identity i WHERE i.settled_at IS NULL) THEN
    PERFORM pg_advisory_xact_lock_shared(7309455313);
    -- A transaction that sees only what was there when it began notices in this way that there is more.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
      PERFORM FROM semel.identity i FOR SHARE;
    END IF;
  END IF;
  IF EXISTS (SELECT FROM semel.identity i WHERE i.mark IS NOT NULL) THEN
    RAISE EXCEPTION 'gateways with store.encryption_keys use this database and give its keys names of their own; take another database for yours'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN true;
END
$$;

CREATE FUNCTION semel.complete_1(
  patience_ms integer, ids bytea[], fences bigint[], owners bigint[], responses bytea[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  patience text := set_config('lock_timeout', patience_ms::text, true);  -- cheaper than PERFORM, which starts a plan
  n bigint;
BEGIN
  RETURN QUERY
    UPDATE semel.keys k
       SET state = CASE WHEN i.response IS NULL THEN 'unknown' ELSE 'done' END::semel.key_state,
           response = i.response
      FROM unnest(ids, fences, owners, responses) AS i(id, fence, owner, response)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, k.waited;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  -- Asked again after a lost answer. The first response stays; it is written again, as a claim is.
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, fences, owners, responses) AS i(id, fence, owner, response)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.state = CASE WHEN i.response IS NULL THEN 'unknown' ELSE 'done' END::semel.key_state
       AND k.expires_at > clock_timestamp()
    RETURNING k.id, k.waited;
END
$$;

CREATE FUNCTION semel.release_1(patience_ms integer, ids bytea[], fences bigint[], owners bigint[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  n bigint;
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  RETURN QUERY
    UPDATE semel.keys k
       SET state = 'released'
      FROM unnest(ids, fences, owners) AS i(id, fence, owner)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, k.waited;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, fences, owners) AS i(id, fence, owner)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.state = 'released' AND k.expires_at > clock_timestamp()
    RETURNING k.id, k.waited;
END
$$;

CREATE FUNCTION semel.renew_1(
  patience_ms integer, ids bytea[], fences bigint[], owners bigint[], leases_ms bigint[])
RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  RETURN QUERY
    UPDATE semel.keys k
       SET lease_until = date_trunc('milliseconds', clock_timestamp()) + i.lease * interval '1 millisecond'
      FROM unnest(ids, fences, owners, leases_ms) AS i(id, fence, owner, lease)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id;
END
$$;

-- Marks keys whose end is waited for, and answers those that do not run (any more): nobody would tell of them.
CREATE FUNCTION semel.await_1(patience_ms integer, ids bytea[]) RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  UPDATE semel.keys k
     SET waited = true
    FROM (SELECT DISTINCT i.id FROM unnest(ids) AS i(id) ORDER BY i.id) AS i
   WHERE k.id = i.id AND k.state = 'running' AND NOT k.waited;
  RETURN QUERY
    SELECT i.id FROM unnest(ids) AS i(id)
     WHERE NOT EXISTS (SELECT FROM semel.keys k
                        WHERE k.id = i.id AND k.state = 'running' AND k.lease_until > clock_timestamp());
END
$$;

-- An operator lets keys that have ended run again; answers those that had.
CREATE FUNCTION semel.reopen_1(patience_ms integer, ids bytea[]) RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  RETURN QUERY
    UPDATE semel.keys k
       SET state = 'released', response = NULL
      FROM unnest(ids) AS i(id)
     WHERE k.id = i.id AND k.expires_at > clock_timestamp()
       AND (k.state IN ('done', 'unknown') OR (k.state = 'running' AND k.lease_until <= clock_timestamp()))
    RETURNING k.id;
END
$$;

-- Deletes in the order of expiry. What another gateway is sweeping, or somebody is just claiming, is left to them.
CREATE FUNCTION semel.sweep_1(count_max bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  t timestamptz := clock_timestamp();
  n bigint;
  m bigint;
BEGIN
  DELETE FROM semel.keys k
   WHERE k.id = ANY (ARRAY(
     SELECT e.id FROM semel.keys e
      WHERE e.expires_at <= t AND (e.state <> 'running' OR e.lease_until <= t)
      ORDER BY e.expires_at LIMIT count_max FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = count_max THEN RETURN n; END IF;
  DELETE FROM semel.objects o
   WHERE o.id = ANY (ARRAY(
     SELECT e.id FROM semel.objects e
      WHERE e.expires_at <= t
        AND NOT EXISTS (SELECT FROM semel.keys k
                         WHERE k.id = e.event AND k.fence = e.fence AND k.owner = e.owner
                           AND k.state = 'running' AND k.lease_until > t)
      ORDER BY e.expires_at LIMIT count_max - n FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS m = ROW_COUNT;
  RETURN n + m;
END
$$;

-- The settings of all of them: names mean what they meant here, and rows are looked up one by one, in the order given.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'semel'::regnamespace LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (1);
