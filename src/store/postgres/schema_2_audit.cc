// Version 2 of the schema: what operators did, as a chain of hashes (store/audit_log.h).
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view audit_2 = R"sql(
CREATE TABLE semel.audit (
  number bigint PRIMARY KEY,
  token  bigint NOT NULL UNIQUE,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  hash   bytea NOT NULL,
  entry  text NOT NULL
);
COMMENT ON TABLE semel.audit IS 'What operators did to keys; each hash covers the entry and the hash before it';
COMMENT ON COLUMN semel.audit.token IS 'Random; an entry whose answer was lost is asked for again and is not doubled';

CREATE FUNCTION semel.append_audit_2(believed text, patience_ms integer, new_entry text, new_token bigint)
RETURNS TABLE (number bigint, hash bytea, entry text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  last_number bigint := 0;
  last_hash bytea := decode(repeat('00', 32), 'hex');
BEGIN
  PERFORM pg_advisory_xact_lock(7309455315);
  IF NOT EXISTS (SELECT FROM semel.audit a WHERE a.token = new_token) THEN
    SELECT a.number, a.hash INTO last_number, last_hash FROM semel.audit a ORDER BY a.number DESC LIMIT 1;
    last_number := coalesce(last_number, 0) + 1;
    last_hash := coalesce(last_hash, decode(repeat('00', 32), 'hex'));
    INSERT INTO semel.audit (number, token, hash, entry)
    VALUES (last_number, new_token,
            sha256(convert_to('semel audit v1' || chr(10) || encode(last_hash, 'hex') || chr(10) || last_number
                              || chr(10) || new_entry, 'UTF8')),
            new_entry);
  END IF;
  RETURN QUERY SELECT a.number, a.hash, a.entry FROM semel.audit a WHERE a.token = new_token;
END
$$;

CREATE FUNCTION semel.read_audit_2(believed text, patience_ms integer, after_number bigint, count_max bigint)
RETURNS TABLE (number bigint, hash bytea, entry text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT a.number, a.hash, a.entry FROM semel.audit a WHERE a.number > after_number ORDER BY a.number LIMIT count_max;
END
$$;
)sql";

}  // namespace semel::store::postgres
