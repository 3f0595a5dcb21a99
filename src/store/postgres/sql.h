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
inline constexpr int schema_version_min = 6;
inline constexpr int schema_version_max = 6;

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
// Claims, renewals and ends in one; see schema_6.cc.
inline constexpr Sql batch_sql{.name = "semel_batch",
                               .text =
                                   "SELECT * FROM "
                                   "semel.batch_6($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18)"};
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
// Of the inbox; see schema_3*.cc, schema_4*.cc and schema_6_reclaim.cc.
inline constexpr Sql accept_sql{.name = "semel_accept",
                                .text =
                                    "SELECT * FROM "
                                    "semel.accept_3($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,"
                                    "$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30)"};
// The same for a batch in which something is dead from the beginning; see schema_4_dead.cc.
inline constexpr Sql bury_sql{.name = "semel_accept_dead",
                              .text =
                                  "SELECT * FROM "
                                  "semel.accept_4($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,"
                                  "$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31)"};
inline constexpr Sql take_sql{.name = "semel_take", .text = "SELECT * FROM semel.take_4($1,$2,$3,$4,$5,$6,$7,$8)"};
inline constexpr Sql settle_delivery_sql{
    .name = "semel_settle_delivery",
    .text = "SELECT * FROM semel.settle_3($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)"};
inline constexpr Sql event_key_sql{.name = "semel_event_key", .text = "SELECT * FROM semel.event_key_3($1,$2,$3)"};
inline constexpr Sql load_sql{.name = "semel_load", .text = "SELECT * FROM semel.load_3($1,$2,$3)"};
inline constexpr Sql beat_sql{.name = "semel_beat", .text = "SELECT * FROM semel.beat_4($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql adopt_sql{.name = "semel_adopt", .text = "SELECT * FROM semel.adopt_3($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql reclaim_sql{.name = "semel_reclaim", .text = "SELECT * FROM semel.reclaim_6($1,$2,$3,$4,$5)"};
inline constexpr Sql audit_inbox_sql{.name = "semel_audit_inbox",
                                     .text = "SELECT * FROM semel.audit_inbox_3($1,$2,$3,$4,$5,$6,$7)"};
inline constexpr Sql find_event_sql{.name = "semel_find_event", .text = "SELECT * FROM semel.find_event_4($1,$2,$3)"};
inline constexpr Sql list_inbox_sql{.name = "semel_list_inbox",
                                    .text = "SELECT * FROM semel.list_inbox_4($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)"};
inline constexpr Sql change_sql{.name = "semel_change", .text = "SELECT * FROM semel.change_4($1,$2,$3,$4,$5,$6,$7)"};
inline constexpr Sql erase_sql{.name = "semel_erase", .text = "SELECT * FROM semel.erase_3($1,$2,$3,$4)"};
inline constexpr Sql control_sql{.name = "semel_control", .text = "SELECT * FROM semel.control_3($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql controls_sql{.name = "semel_controls", .text = "SELECT * FROM semel.controls_3($1,$2)"};
inline constexpr Sql status_sql{.name = "semel_status", .text = "SELECT * FROM semel.status_3($1,$2)"};
inline constexpr Sql sweep_inbox_sql{.name = "semel_sweep_inbox",
                                     .text = "SELECT * FROM semel.sweep_inbox_3($1,$2,$3)"};
// Of the notes; see schema_4_notes.cc.
inline constexpr Sql write_note_sql{.name = "semel_write_note",
                                    .text = "SELECT * FROM semel.write_note_4($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql read_notes_sql{.name = "semel_read_notes",
                                    .text = "SELECT * FROM semel.read_notes_4($1,$2,$3,$4,$5,$6)"};
inline constexpr Sql roll_sql{.name = "semel_roll", .text = "SELECT * FROM semel.roll_4($1,$2,$3,$4,$5,$6,$7,$8)"};
inline constexpr Sql plan_job_sql{.name = "semel_plan_job",
                                  .text =
                                      "SELECT * FROM "
                                      "semel.plan_job_4($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,"
                                      "$18,$19,$20,$21)"};
inline constexpr Sql start_job_sql{.name = "semel_start_job",
                                   .text = "SELECT * FROM semel.start_job_4($1,$2,$3,$4,$5,$6,$7)"};
inline constexpr Sql cancel_job_sql{.name = "semel_cancel_job", .text = "SELECT * FROM semel.cancel_job_4($1,$2,$3)"};
inline constexpr Sql jobs_sql{.name = "semel_jobs", .text = "SELECT * FROM semel.jobs_4($1,$2)"};
inline constexpr Sql advance_job_sql{.name = "semel_advance_job",
                                     .text = "SELECT * FROM semel.advance_job_4($1,$2,$3,$4,$5,$6,$7,$8,$9)"};
inline constexpr Sql lead_sql{.name = "semel_lead", .text = "SELECT * FROM semel.lead_4($1,$2,$3,$4,$5)"};
// Of the store as a whole; see schema_6_reigns.cc.
inline constexpr Sql raise_pulse_sql{.name = "semel_raise_pulse", .text = "SELECT * FROM semel.raise_pulse_6($1,$2)"};
inline constexpr Sql see_pulse_sql{.name = "semel_see_pulse", .text = "SELECT * FROM semel.see_pulse_6($1,$2)"};
inline constexpr std::array<Sql, 48> all_sql{claim_sql,       ordered_sql,     complete_sql,
                                             release_sql,     renew_sql,       reopen_sql,
                                             sweep_sql,       former_sql,      find_sql,
                                             list_sql,        settle_sql,      look_sql,
                                             append_sql,      audit_sql,       note_sql,
                                             past_sql,        scan_sql,        prune_sql,
                                             accept_sql,      take_sql,        settle_delivery_sql,
                                             event_key_sql,   load_sql,        beat_sql,
                                             adopt_sql,       reclaim_sql,     audit_inbox_sql,
                                             find_event_sql,  list_inbox_sql,  change_sql,
                                             erase_sql,       control_sql,     controls_sql,
                                             status_sql,      sweep_inbox_sql, plan_job_sql,
                                             start_job_sql,   cancel_job_sql,  jobs_sql,
                                             advance_job_sql, lead_sql,        write_note_sql,
                                             read_notes_sql,  bury_sql,        roll_sql,
                                             raise_pulse_sql, see_pulse_sql,   batch_sql};

}  // namespace semel::store::postgres
