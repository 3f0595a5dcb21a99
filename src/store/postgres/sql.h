// The SQL of the PostgreSQL store, as text: what `semel migrate` runs, and the few statements that a gateway sends.
//
// The work is done by functions in the schema `semel`, one per call of the store, each over arrays: a batch is one
// statement and one round trip. The server keeps their plans, so a pooler that hands out another connection every time
// costs no planning. Each statement inside a function sees what was committed before it began, so a claim that lost a
// race learns in the same round trip who won. A function's name ends in the version of the schema that brought it: an
// upgrade adds new ones beside the old, and gateways of both versions go on.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace semel::store::postgres {

struct Migration {
  int version;
  std::string_view sql;  // creates what this version adds; runs in one transaction
};

// In order, from version 1 on.
std::span<const Migration> migrations();

// What this gateway can work with.
inline constexpr int schema_version_min = 2;
inline constexpr int schema_version_max = 2;

// What a gateway sends: the text, and the name under which a connection may have it prepared.
struct Sql {
  const char* name;
  const char* text;
};

// Binary parameters and results; see schema_2*.cc for what each takes and gives. The first parameter is the standing of
// the connection.
inline constexpr Sql claim_sql{.name = "semel_claim",
                               .text = "SELECT * FROM semel.claim_2($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)"};
inline constexpr Sql ordered_sql{
    .name = "semel_claim_ordered",
    .text = "SELECT * FROM semel.claim_ordered_2($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)"};
inline constexpr Sql complete_sql{.name = "semel_complete",
                                  .text = "SELECT * FROM semel.complete_2($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql release_sql{.name = "semel_release", .text = "SELECT * FROM semel.release_2($1,$2,$3,$4,$5)"};
inline constexpr Sql renew_sql{.name = "semel_renew", .text = "SELECT * FROM semel.renew_2($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql reopen_sql{.name = "semel_reopen", .text = "SELECT * FROM semel.reopen_2($1,$2,$3,$4)"};
inline constexpr Sql sweep_sql{.name = "semel_sweep", .text = "SELECT * FROM semel.sweep_2($1,$2,$3,$4)"};
inline constexpr Sql former_sql{.name = "semel_claim_former",
                                .text = "SELECT * FROM semel.claim_former_2($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)"};
inline constexpr Sql look_sql{.name = "semel_look", .text = "SELECT * FROM semel.look_2($1,$2,$3)"};
inline constexpr Sql find_sql{.name = "semel_find", .text = "SELECT * FROM semel.find_2($1,$2,$3,$4,$5)"};
inline constexpr Sql list_sql{.name = "semel_list",
                              .text = "SELECT * FROM semel.list_2($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)"};
inline constexpr Sql settle_sql{.name = "semel_settle",
                                .text = "SELECT * FROM semel.settle_2($1,$2,$3,$4,$5,$6,$7,$8)"};
inline constexpr Sql append_sql{.name = "semel_append_audit",
                                .text = "SELECT * FROM semel.append_audit_2($1,$2,$3,$4)"};
inline constexpr Sql audit_sql{.name = "semel_read_audit", .text = "SELECT * FROM semel.read_audit_2($1,$2,$3,$4)"};
inline constexpr Sql note_sql{.name = "semel_note", .text = "SELECT semel.note_2($1,$2,$3,$4,$5,$6,$7)"};
inline constexpr Sql past_sql{.name = "semel_past", .text = "SELECT * FROM semel.past_2($1,$2,$3,$4,$5,$6,$7)"};
inline constexpr Sql scan_sql{.name = "semel_scan",
                              .text = "SELECT * FROM semel.scan_2($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)"};
inline constexpr Sql prune_sql{.name = "semel_prune", .text = "SELECT semel.prune_2($1,$2,$3,$4,$5)"};
inline constexpr std::array<Sql, 18> all_sql{claim_sql,  ordered_sql, complete_sql, release_sql, renew_sql,  reopen_sql,
                                             sweep_sql,  former_sql,  find_sql,     list_sql,    settle_sql, look_sql,
                                             append_sql, audit_sql,   note_sql,     past_sql,    scan_sql,   prune_sql};

}  // namespace semel::store::postgres
