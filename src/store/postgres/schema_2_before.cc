// Version 2 of the schema: the functions of version 1, for programs of that version that are still running.
//
// Gateways go on over the connections that they have; a new one they refuse, because they do not know this version. The
// library in a program of its own goes on. None of them says what it goes by, so they are served only while the set of
// shards is the one of before.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view before_2 = R"sql(
CREATE FUNCTION semel.standing_1() RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7309455314);
  IF NOT (SELECT g.since_1 FROM semel.generation g) THEN
    RAISE EXCEPTION 'the set of shards has changed, and this program, which is of an older version, cannot know of it; upgrade it'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN semel.standing_2();
END
$$;

-- For those who know neither a secret nor a set, before they claim: true, or an error. It holds until the end of the
-- transaction.
CREATE OR REPLACE FUNCTION semel.plain_1() RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7309455314);
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
  IF EXISTS (SELECT FROM semel.shards s WHERE NOT s.here) THEN
    RAISE EXCEPTION 'the database is one of several shards, and a key may live in another one, where no transaction of yours reaches; take a database that is a store by itself'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION semel.claim_1(
  patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT * FROM semel.claim_2(semel.standing_1(), patience_ms, ids, spaces, scopes, fingerprints, owners, leases_ms,
                                ttls_ms, takes, over_fences, over_owners);
END
$$;

CREATE OR REPLACE FUNCTION semel.claim_former_1(
  patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT * FROM semel.claim_former_2(semel.standing_1(), patience_ms, ids, spaces, scopes, fingerprints, owners,
                                       leases_ms, ttls_ms, takes, over_fences, over_owners);
END
$$;

CREATE OR REPLACE FUNCTION semel.claim_ordered_1(
  patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[],
  objects bytea[], stamps bytea[], companies bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, verdict text, other bytea)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT * FROM semel.claim_ordered_2(semel.standing_1(), patience_ms, ids, spaces, scopes, fingerprints, owners,
                                        leases_ms, ttls_ms, takes, over_fences, over_owners, objects, stamps,
                                        companies);
END
$$;

CREATE OR REPLACE FUNCTION semel.complete_1(
  patience_ms integer, ids bytea[], fences bigint[], owners bigint[], responses bytea[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY SELECT * FROM semel.complete_2(semel.standing_1(), patience_ms, ids, fences, owners, responses);
END
$$;

CREATE OR REPLACE FUNCTION semel.release_1(patience_ms integer, ids bytea[], fences bigint[], owners bigint[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY SELECT * FROM semel.release_2(semel.standing_1(), patience_ms, ids, fences, owners);
END
$$;

CREATE OR REPLACE FUNCTION semel.renew_1(
  patience_ms integer, ids bytea[], fences bigint[], owners bigint[], leases_ms bigint[])
RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY SELECT * FROM semel.renew_2(semel.standing_1(), patience_ms, ids, fences, owners, leases_ms);
END
$$;

CREATE OR REPLACE FUNCTION semel.reopen_1(patience_ms integer, ids bytea[]) RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT * FROM semel.reopen_2(semel.standing_1(), patience_ms, ids,
                                 ARRAY(SELECT (random() * 9007199254740992)::bigint FROM unnest(ids)));
END
$$;

CREATE OR REPLACE FUNCTION semel.sweep_1(count_max bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN (SELECT s.swept FROM semel.sweep_2(semel.standing_1(), count_max, '-infinity', '-infinity') AS s);
END
$$;
)sql";

}  // namespace semel::store::postgres
