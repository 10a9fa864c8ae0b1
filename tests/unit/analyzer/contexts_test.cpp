#include "analyzer/facts/contexts.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_contexts)

using namespace umadvisor;

namespace {

trace::Context context(trace::ContextAction action, std::uint64_t handle, std::uint64_t device,
                       std::uint64_t status = 0) {
    trace::Context record{.action = action, .context = handle, .device = device};
    record.status = status;
    return record;
}

trace::Stream made(std::uint64_t handle, std::uint64_t of = 0) {
    return {.stream = trace::StreamId{handle}, .context = of};
}

} // namespace

BOOST_AUTO_TEST_CASE(default_streams_are_of_the_threads_current_context) {
    facts::Contexts contexts;
    BOOST_TEST(contexts.of(1, trace::StreamId{0}).context == 0u);
    contexts.add(context(trace::ContextAction::retain_primary, 0xa0, 0), 1);
    contexts.add(context(trace::ContextAction::set_current, 0xa0, 0), 1);
    contexts.add(context(trace::ContextAction::create, 0xb0, 1), 2);
    for (const std::uint64_t stream : {0, 1, 2}) {
        BOOST_TEST(contexts.of(1, trace::StreamId{stream}).context == 0xa0u);
        BOOST_TEST(contexts.of(2, trace::StreamId{stream}).device == 1u);
    }
    contexts.add(context(trace::ContextAction::set_current, 0xb0, 1), 1);
    BOOST_TEST(contexts.of(1, trace::StreamId{0}).device == 1u);
    contexts.add(context(trace::ContextAction::set_current, 0, 0), 2);
    BOOST_TEST(contexts.of(2, trace::StreamId{0}).context == 0u);
}

BOOST_AUTO_TEST_CASE(other_streams_are_of_the_context_they_were_made_in) {
    facts::Contexts contexts;
    contexts.add(context(trace::ContextAction::create, 0xa0, 1), 1);
    contexts.add(made(0x5000), 1);
    contexts.add(context(trace::ContextAction::create, 0xb0, 2), 1);
    BOOST_TEST(contexts.of(1, trace::StreamId{0x5000}).context == 0xa0u);
    BOOST_TEST(contexts.of(9, trace::StreamId{0x5000}).device == 1u); // whichever thread uses it
    trace::Context green = context(trace::ContextAction::create_green, 0, 3);
    green.green = 0xc0;
    contexts.add(green, 1);
    contexts.add(made(0x6000, 0xc0), 1);
    BOOST_TEST(contexts.of(1, trace::StreamId{0x6000}).device == 3u);
    trace::Stream gone = made(0x5000);
    gone.action = trace::StreamAction::destroy;
    contexts.add(gone, 1);
    BOOST_TEST(contexts.of(1, trace::StreamId{0x5000}).context == 0u);
}

BOOST_AUTO_TEST_CASE(a_handle_that_comes_back_is_the_context_made_last) {
    facts::Contexts contexts;
    contexts.add(context(trace::ContextAction::create, 0xa0, 1), 1);
    contexts.add(context(trace::ContextAction::destroy, 0xa0, 0), 1);
    contexts.add(context(trace::ContextAction::set_current, 0, 0), 1);
    contexts.add(context(trace::ContextAction::create, 0xa0, 2, 999), 1); // refused: nothing was made
    BOOST_TEST(contexts.of(1, trace::StreamId{0}).context == 0u);
    contexts.add(context(trace::ContextAction::create, 0xa0, 2), 1);
    BOOST_TEST(contexts.of(1, trace::StreamId{0}).device == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
