// Version 4 of the schema: small named values (store/notes.h).
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

// A write whose answer was lost is asked for again with the same `fresh` version, and is recognised by it.
const std::string_view notes_4 = R"sql(
CREATE TABLE semel.notes (
  name    text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  value   bytea NOT NULL,
  changed timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE semel.notes IS 'Small named values of background work: how far it has come, what it found, who does it';
COMMENT ON COLUMN semel.notes.version IS 'Random, another one after every write; a write names the one that it replaces';

-- 0: it is so, from now on or already; 1: the note is not the version that was to be replaced.
CREATE FUNCTION semel.write_note_4(
  believed text, patience_ms integer, the_name text, over bigint, fresh bigint, content bytea)
RETURNS TABLE (verdict bigint)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  present bigint;
BEGIN
  verdict := 0;
  IF over = 0 AND content IS NOT NULL THEN
    INSERT INTO semel.notes (name, version, value) VALUES (the_name, fresh, content) ON CONFLICT DO NOTHING;
  END IF;
  SELECT n.version INTO present FROM semel.notes n WHERE n.name = the_name FOR UPDATE;
  IF content IS NULL THEN
    IF present IS NOT NULL AND present <> over THEN verdict := 1; END IF;
    DELETE FROM semel.notes n WHERE n.name = the_name AND n.version = over;
  ELSIF present = over AND over <> 0 THEN
    UPDATE semel.notes n SET version = fresh, value = content, changed = clock_timestamp() WHERE n.name = the_name;
  ELSIF present = fresh THEN  -- written again, so that it is as durable as it was then
    UPDATE semel.notes n SET version = fresh WHERE n.name = the_name;
  ELSE
    verdict := 1;
  END IF;
  RETURN NEXT;
END
$$;

CREATE FUNCTION semel.read_notes_4(
  believed text, patience_ms integer, first_name text, last_name text, behind text, count_max bigint)
RETURNS TABLE (name text, version bigint, value bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT n.name, n.version, n.value FROM semel.notes n
     WHERE n.name >= first_name AND n.name <= last_name AND n.name > behind
     ORDER BY n.name LIMIT count_max;
END
$$;
)sql";

}  // namespace semel::store::postgres
