// Version 4 of the schema: how a copy of a server is told from its original.
//
// A physical copy says of itself all that its original says: the system identifier, the timeline, the generation. But
// it was started at another time, by which calls notice that they are somewhere else (schema_6_reigns.cc compares); and
// it does not know how often gateways have written to the original since, so that the gateway can tell that it is
// older. What standing_2 says stays as it is: gateways of version 3 go by it.
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

const std::string_view beat_4 = R"sql(
CREATE TABLE semel.pulse (
  one    boolean PRIMARY KEY DEFAULT true CHECK (one),
  number bigint NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE semel.pulse IS 'Raised by each gateway that writes, once a second: an older copy of the database is behind';
INSERT INTO semel.pulse (number) VALUES (0);

-- Where the calls of this process of the server go: the server, since when it runs, and the database. As home_2, and
-- kept in the same way, under another name: a process may have kept the home before there was this.
CREATE FUNCTION semel.place_4() RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN set_config('semel.place', extract(epoch FROM pg_postmaster_start_time()) || ' ' || semel.home_2(), false);
END
$$;

-- Its number is on disk when this is answered, also where others are not: what it tells must not be lost by a restart.
CREATE FUNCTION semel.raise_pulse_4(believed text, patience_ms integer)
RETURNS TABLE (timeline text, number bigint)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  synced text;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN synced := set_config('synchronous_commit', 'local', true); END IF;
  RETURN QUERY
    UPDATE semel.pulse p SET number = p.number + 1
    RETURNING left(pg_walfile_name(pg_current_wal_lsn()), 8), p.number;
END
$$;

CREATE FUNCTION semel.pulse_4() RETURNS bigint
LANGUAGE sql STABLE
AS $$ SELECT p.number FROM semel.pulse p $$;
)sql";

}  // namespace semel::store::postgres
