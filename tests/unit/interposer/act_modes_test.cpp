/// The words of --act.
#include "interposer/runtime/options.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(act_modes)

using namespace umadvisor;
using runtime::Options;
using trace::ActMode;

namespace {

Options read(const char* list) {
    Options options;
    BOOST_TEST(runtime::parse_actions(list, options), list);
    return options;
}

bool refuses(const char* list) {
    Options options;
    return !runtime::parse_actions(list, options) && !options.acts() && !options.act_auto;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_word_of_the_list_asks_for_its_mode_alone) {
    for (std::size_t i = 0; i < trace::act_mode_count; ++i) {
        std::string word(trace::act_modes[i].words.substr(0, trace::act_modes[i].words.find(',')));
        if (const std::size_t any = word.find("SIZE"); any != std::string::npos)
            word.replace(any, 4, "64MiB");
        const Options options = read(word.c_str());
        BOOST_TEST(options.acts());
        for (std::size_t other = 0; other < trace::act_mode_count; ++other)
            BOOST_TEST(options.asks(static_cast<ActMode>(other)) == (other == i), word);
        BOOST_TEST(options.acts_on_launches() == trace::act_modes[i].launches, word);
    }
}

BOOST_AUTO_TEST_CASE(auto_asks_for_the_modes_that_give_up_by_themselves) {
    const Options options = read("auto");
    BOOST_TEST(options.act_auto);
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        BOOST_TEST(options.asks(static_cast<ActMode>(i)) == trace::act_modes[i].automatic);
}

BOOST_AUTO_TEST_CASE(a_mode_may_have_forms) {
    BOOST_TEST(read("rewrite=spill").asked(ActMode::rewrite).word == "rewrite=spill");
    const Options large = read("stage,rewrite=64MiB+");
    BOOST_TEST(large.asked(ActMode::rewrite).word == "rewrite=SIZE+");
    BOOST_TEST(large.asked(ActMode::rewrite).size == 64u << 20);
    BOOST_TEST(!large.asked(ActMode::rewrite).twice);
    BOOST_TEST(large.asks(ActMode::stage));
    BOOST_TEST(read("rewrite=all,rewrite=all").asked(ActMode::rewrite).twice);
}

BOOST_AUTO_TEST_CASE(a_list_that_is_not_understood_changes_nothing) {
    for (const char* const list :
         {"x", "prefetch,x", "auto,x", "rewrite", "rewrite=", "rewrite=+", "rewrite=64MiB", "rewrite=SIZE+",
          "rewrite=all,rewrite=spill", "rewrite=1M+,rewrite=2M+", "prefetch=all", "plan", "plan=", "FILE"})
        BOOST_TEST(refuses(list), list);
    BOOST_TEST(!read("").acts());
    BOOST_TEST(read(",stage,").asks(ActMode::stage));
    BOOST_TEST(read("plan=x").act_plan == std::string("x"));
}

BOOST_AUTO_TEST_SUITE_END()
