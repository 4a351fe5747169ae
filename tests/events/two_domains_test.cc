#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {
namespace {

/// Names the stream `counter/a` and wants no payload: appends nothing.
Domain glancing_domain() {
  Domain domain;
  domain.name = "glance";
  domain.load = [](const std::any&) { return std::vector<StreamName>{{"counter/a"}}; };
  domain.decide = [](const std::any&, Reader& reader) -> Decision {
    reader.latest({"counter/a"});
    return std::vector<NewEvent>{};
  };
  return domain;
}

Command glance() {
  Command command;
  command.domain = "glance";
  command.actor = "jo";
  return command;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(two_domains, LogFixture)

BOOST_AUTO_TEST_CASE(a_decision_sees_the_payload_whatever_its_neighbours_loaded) {
  Sequencer sequencer(options(), {glancing_domain(), counter_domain()});
  accepted(submit(sequencer, counter_command({Add{"a", 5}})));
  accepted(submit(sequencer, counter_command({Add{"b", 5}})));
  Pile pile(*this, sequencer);
  pile.add(glance());  // taken at once, alone
  pile.add(glance());
  pile.add(counter_command({AddIfOther{"b", 1, "a", 5}}));
  pile.add(counter_command({Add{"a", 1}}));
  pile.add(glance());
  for (const CommandResult& result : pile.release()) accepted(result);
  BOOST_CHECK_EQUAL(total("a"), 6);
  BOOST_CHECK_EQUAL(total("b"), 6);
  check_log(*this);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
