// What one thread writes down of the requests that it has answered, until it is taken away about once a second
// (gateway/bookkeeper.h). Nothing here locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "telemetry/doctor_note.h"
#include "telemetry/key_look.h"
#include "telemetry/member_prints.h"
#include "telemetry/tally_book.h"
#include <semel/clock.h>

namespace semel::telemetry {

// What is left of a request for the doctor when its body has gone.
struct Clue {
  RequestTraits traits;
  DoctorNote::Source source = DoctorNote::Source::route;
  bool by_request = false;
  KeyLook look;
  std::vector<MemberPrint> members;
};

struct Notebook {
  static constexpr std::size_t notes_max = 2'048;  // between two times; the rest is not looked at

  TallyBook tallies;
  std::vector<DoctorNote> notes;
  std::uint64_t left_out = 0;

  void add(DoctorNote note) {
    if (notes.size() < notes_max) {
      notes.push_back(std::move(note));
    } else {
      ++left_out;
    }
  }
};

}  // namespace semel::telemetry
