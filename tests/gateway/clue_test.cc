// What a request leaves for the doctor while its body is there, and when that is nothing.
#include "gateway/clue.h"

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "gateway/world.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "support/fake_transaction.h"
#include "telemetry/doctor_note.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include <semel/key.h>

namespace semel::gateway {
namespace {

policy::Identity identity() {
  return {.key = make_key("default", "", "key-1").value(), .fingerprint = {}, .key_text = "key-1"};
}

class ClueOfARequest : public testing::Test {
 protected:
  policy::RequestView request_of(const Incoming& incoming) {
    policy::RequestView request = incoming.request;
    request.body = R"({"amount":4200,"sent_at":"now"})";
    return request;
  }
  std::unique_ptr<telemetry::Clue> odd_clue() {
    const Incoming incoming = world_.incoming(client_);
    return clue_of(incoming, identity(), request_of(incoming), true);
  }
  std::unique_ptr<telemetry::Clue> clue_after(telemetry::Ending ending) {
    const Incoming incoming = world_.incoming(client_);
    const Job job{.target = nullptr, .webhook = nullptr, .request = request_of(incoming), .identity = identity()};
    return clue_of(incoming, job, Told{.ending = ending});
  }

  test::World world_;
  test::FakeTransaction client_{world_.context.get_executor(), "POST", "/payments"};
  telemetry::Notebook& notebook_ = world_.services.books.notebook;
};

TEST_F(ClueOfARequest, NamesTheMembersOfItsBody) {
  const std::unique_ptr<telemetry::Clue> clue = odd_clue();
  ASSERT_NE(clue, nullptr);
  EXPECT_EQ(clue->members.size(), 2U);
}

// Its body is not parsed for nothing. The doctor still learns how many it did not see.
TEST_F(ClueOfARequest, IsNotMadeForANotebookThatIsFull) {
  for (std::size_t i = 1; i < telemetry::Notebook::notes_max; ++i) notebook_.add(telemetry::DoctorNote{});
  EXPECT_NE(odd_clue(), nullptr);
  notebook_.add(telemetry::DoctorNote{});
  EXPECT_EQ(odd_clue(), nullptr);
  EXPECT_EQ(notebook_.left_out, 1U);
}

// Most events are accepted: their bodies are not parsed once more for the doctor.
TEST_F(ClueOfARequest, ReadsTheBodyOnlyOfWhatIsUnusual) {
  using telemetry::Ending;
  for (const Ending ending : {Ending::ran, Ending::accepted}) {
    const std::unique_ptr<telemetry::Clue> clue = clue_after(ending);
    ASSERT_NE(clue, nullptr);
    EXPECT_TRUE(clue->members.empty());
  }
  const std::unique_ptr<telemetry::Clue> clue = clue_after(Ending::replayed);
  ASSERT_NE(clue, nullptr);
  EXPECT_EQ(clue->members.size(), 2U);
}

}  // namespace
}  // namespace semel::gateway
