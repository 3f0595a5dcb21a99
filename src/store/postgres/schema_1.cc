// Version 1 of the schema.
//
//   semel.keys            one row per key, as `psql` shows it
//   semel.schema_version  which versions have been applied
//   semel.shards          which databases belong together
//   semel.identity        by what keys and scopes are named (schema_1_identity.cc)
//   semel.objects         objects whose events are ordered
//
// The calls of the store came with version 1, too. Version 2 replaces all of them (schema_2.cc), so they are not here.
//
// A row is written twice in its life: inserted by the claim, updated once by its end. The end touches no indexed column
// and finds room on its page, so it is a HOT update: no index entry, and the page cleans itself. The fillfactor is low
// because a batch of ends needs room for the old rows and the new ones, which carry the responses, at the same time;
// the table does not become larger, since a row without room would go to another page and leave a hole. Replays and
// refusals write nothing. Rows are deleted in the order of `expires_at`, in batches, by an index on it. Vacuum leaves
// the empty end of the table alone: to cut it off it would lock all others out, and the room is soon used again.
#include "store/postgres/schema_1.h"

#include <string_view>

namespace semel::store::postgres {

const std::string_view tables_1 = R"sql(
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
)sql";

const std::string_view objects_1 = R"sql(
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
)sql";

const std::string_view await_1 = R"sql(
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

INSERT INTO semel.schema_version (version) VALUES (1);
)sql";

}  // namespace semel::store::postgres
