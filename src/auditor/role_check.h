// What a role that only reads must not have: asked of the server by one statement, which answers with the first right
// found and what takes it away, or with nothing.
//
// It goes by the role of the session and all roles that it is a member of, also those it would have to become first
// (NOINHERIT). A temporary table is no write. A server in recovery takes no writes at all.
#pragma once

namespace semel::auditor {

inline constexpr const char* writers_sql = R"sql(
WITH mine AS MATERIALIZED (
  SELECT r.*, quote_ident(r.rolname) AS called,
         CASE WHEN r.rolname = session_user THEN NULL ELSE coalesce(
           (SELECT 'REVOKE ' || quote_ident(g.rolname) || ' FROM ' || quote_ident(session_user)
              FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
             WHERE m.member = (SELECT s.oid FROM pg_roles s WHERE s.rolname = session_user)
               AND pg_has_role(g.oid, r.oid, 'MEMBER') LIMIT 1), 'REVOKE ' || quote_ident(r.rolname) || ' FROM '
           || quote_ident(session_user)) END AS leave
    FROM pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER')),
holders AS MATERIALIZED (
  SELECT m.oid, 'the role ' || m.called AS who, m.called, m.leave FROM mine m
  UNION ALL SELECT 0::oid, 'every role (PUBLIC)', 'PUBLIC', NULL),
relations AS NOT MATERIALIZED (
  SELECT c.*, c.oid::regclass::text AS called,
         CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                        WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
     AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%')
SELECT coalesce(
  (SELECT 'the role ' || m.called || w.may || '; run: ' || coalesce(m.leave, 'ALTER ROLE ' || m.called || w.without)
     FROM mine m CROSS JOIN LATERAL (VALUES (m.rolsuper, ' is a superuser', ' NOSUPERUSER'),
                                            (m.rolcreaterole, ' may make roles', ' NOCREATEROLE'),
                                            (m.rolcreatedb, ' may make databases', ' NOCREATEDB')) w(has, may, without)
    WHERE w.has ORDER BY m.rolsuper DESC, m.leave IS NOT NULL LIMIT 1),
  (SELECT 'it is a member of ' || m.called || ', which may write ' || w.what || '; run: ' || m.leave
     FROM mine m JOIN (VALUES ('pg_write_all_data', 'to every table'), ('pg_maintain', 'to every materialized view'),
                              ('pg_execute_server_program', 'by programs on the server'),
                              ('pg_write_server_files', 'to files of the server')) w(role, what) ON w.role = m.rolname
    WHERE m.leave IS NOT NULL LIMIT 1),
  (SELECT 'the role ' || m.called || ' owns the database ' || quote_ident(d.datname) || '; run: '
          || coalesce(m.leave, 'ALTER DATABASE ' || quote_ident(d.datname) || ' OWNER TO another_role')
     FROM pg_database d JOIN mine m ON m.oid = d.datdba WHERE d.datname = current_database() LIMIT 1),
  (SELECT h.who || ' may make schemas in the database (CREATE); run: '
          || coalesce(h.leave, 'REVOKE CREATE ON DATABASE ' || quote_ident(d.datname) || ' FROM ' || h.called)
     FROM pg_database d CROSS JOIN LATERAL aclexplode(d.datacl) a JOIN holders h ON h.oid = a.grantee
    WHERE d.datname = current_database() AND a.privilege_type = 'CREATE' LIMIT 1),
  (SELECT 'the role ' || m.called || ' owns the schema ' || quote_ident(n.nspname) || '; run: '
          || coalesce(m.leave, 'ALTER SCHEMA ' || quote_ident(n.nspname) || ' OWNER TO another_role')
     FROM pg_namespace n JOIN mine m ON m.oid = n.nspowner LIMIT 1),
  (SELECT h.who || ' may make tables in the schema ' || quote_ident(n.nspname) || ' (CREATE); run: '
          || coalesce(h.leave, 'REVOKE CREATE ON SCHEMA ' || quote_ident(n.nspname) || ' FROM ' || h.called)
     FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a JOIN holders h ON h.oid = a.grantee
    WHERE a.privilege_type = 'CREATE' LIMIT 1),
  (SELECT 'the role ' || m.called || ' may write to ' || c.called || ', which it owns; run: '
          || coalesce(m.leave, 'ALTER ' || c.kind || ' ' || c.called || ' OWNER TO another_role')
     FROM relations c JOIN mine m ON m.oid = c.relowner ORDER BY c.relkind = 'S' LIMIT 1),
  (SELECT h.who || CASE c.relkind WHEN 'S' THEN ' may move the sequence ' ELSE ' may write to ' END || c.called || ' ('
          || a.privilege_type || '); run: ' || coalesce(h.leave, 'REVOKE ' || a.privilege_type || ' ON '
          || CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END || c.called || ' FROM ' || h.called)
     FROM relations c CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN holders h ON h.oid = a.grantee
    WHERE a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER', 'MAINTAIN')
       OR c.relkind = 'S' AND a.privilege_type = 'USAGE' LIMIT 1),
  (SELECT h.who || ' may write to ' || c.called || ' (' || a.privilege_type || ' of ' || quote_ident(t.attname)
          || '); run: ' || coalesce(h.leave, 'REVOKE ' || a.privilege_type || ' (' || quote_ident(t.attname) || ') ON '
          || c.called || ' FROM ' || h.called)
     FROM relations c JOIN pg_attribute t ON t.attrelid = c.oid AND t.attacl IS NOT NULL AND NOT t.attisdropped
    CROSS JOIN LATERAL aclexplode(t.attacl) a JOIN holders h ON h.oid = a.grantee
    WHERE a.privilege_type IN ('INSERT', 'UPDATE') LIMIT 1),
  '')
 WHERE NOT pg_is_in_recovery())sql";

}  // namespace semel::auditor
