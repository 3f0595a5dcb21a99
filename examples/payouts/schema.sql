-- The database of the example: psql payouts -f schema.sql
CREATE TABLE fees (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event      text NOT NULL,
  payout     text NOT NULL,
  amount     numeric NOT NULL,
  charged_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON fees (charged_at);

-- The service charges, Semel's mover moves what was sent, and its auditor can only read.
CREATE ROLE payouts_app LOGIN;
CREATE ROLE payouts_mover LOGIN;
CREATE ROLE payouts_auditor LOGIN;
GRANT SELECT, INSERT ON fees TO payouts_app;
GRANT SELECT ON fees TO payouts_auditor;
