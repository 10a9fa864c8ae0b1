/// Running processes: what is made of their answers, and how they are asked.
#include "analyzer/cli/live/duration.hpp"
#include "analyzer/live/counters.hpp"
#include "analyzer/live/process.hpp"
#include "analyzer/live/rates.hpp"
#include "analyzer/live/request.hpp"
#include "analyzer/live/status.hpp"
#include "analyzer/reader/error.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(analyzer_live)

using namespace umadvisor;
using namespace umadvisor::live;

BOOST_AUTO_TEST_CASE(rates_are_of_a_second) {
    Counters before, after;
    before.monotonic_ns = 1'000'000'000;
    after.monotonic_ns = 3'000'000'000;
    after.copies[0] = {4, 400, 100};
    after.copies[3] = {1, 100, 0};
    after.launches = 10;
    after.graph_launches = 2;
    after.device_faults = 6;
    after.host_faults = 4;
    after.wait_ns = 500'000'000;
    const Rates rates = rates_between(before, after);
    BOOST_TEST(rates.seconds == 2.0);
    BOOST_TEST(rates.bytes[0] == 200.0);
    BOOST_TEST(rates.bytes[3] == 50.0);
    BOOST_TEST(*rates.pageable_share == 0.2);
    BOOST_TEST(rates.launches == 6.0);
    BOOST_TEST(rates.faults == 5.0);
    BOOST_TEST(rates.wait_share == 0.25);
}

BOOST_AUTO_TEST_CASE(counters_that_go_back_give_no_rate) {
    Counters before, after;
    before.monotonic_ns = after.monotonic_ns = 5;
    after.launches = 10;
    BOOST_TEST(rates_between(before, after).launches == 0.0); // at one moment
    after.monotonic_ns = 6;
    before.launches = 20;
    const Rates rates = rates_between(before, after);
    BOOST_TEST(rates.launches == 0.0);
    BOOST_TEST(!rates.pageable_share.has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_may_lack_anything_but_its_time) {
    const Counters counters = read_counters(nlohmann::json::parse(
        R"({"monotonic_ns":9,"copies":{"h2d":[],"d2h":{"bytes":-1}},"memory":"all","waits":{"ns":7}})"));
    BOOST_TEST(counters.copies[1].bytes == 0u);
    BOOST_TEST(counters.device_bytes == 0u);
    BOOST_TEST(counters.wait_ns == 7u);
    BOOST_CHECK_THROW(read_counters(nlohmann::json::parse(R"({"monotonic_ns":1.5})")), reader::Error);
}

BOOST_AUTO_TEST_CASE(a_status_is_a_line) {
    const Status status = read_status(nlohmann::json::parse(
        R"({"mode":"ring","recording":true,"file":"/t","ends_in_s":1.5,"recordings":2,"watched":true,
            "act":[{"mode":"stage","on":true},{"mode":"prefetch","on":false}]})"));
    BOOST_TEST(status_text(status) ==
               "ring, recording to /t, which ends in 1.5 s, 2 recordings so far, --act stage, watched");
    BOOST_TEST(status_text(read_status(nlohmann::json::object())) == "mode unknown, not recording");
}

BOOST_AUTO_TEST_CASE(a_request_is_one_line) {
    BOOST_TEST(Request("start").with("output", "/a b").with("hold", "1").line() ==
               "start\toutput=/a b\thold=1\n");
    for (const std::string& value :
         {std::string("a\tb"), std::string("a\nb"), std::string(1, '\0'), std::string(9000, 'x')})
        BOOST_CHECK_THROW(Request("mark").with("text", value), reader::Error);
}

BOOST_AUTO_TEST_CASE(durations_have_units) {
    BOOST_TEST(cli::parse_duration("30s").value() == 30'000'000'000u);
    BOOST_TEST(cli::parse_duration("0.5").value() == 500'000'000u);
    BOOST_TEST(cli::parse_duration("250ms").value() == 250'000'000u);
    BOOST_TEST(cli::parse_duration("2min").value() == 120'000'000'000u);
    for (const char* text : {"", "s", "-1s", "0", "1e3", "nan", "inf", "5 s", "5d", "99999999h"})
        BOOST_TEST(!cli::parse_duration(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_process_has_its_names) {
    const Process self = read_process(::getpid()).value();
    BOOST_TEST(self.inner_pid == ::getpid());
    BOOST_TEST(self.user == ::geteuid());
    BOOST_TEST(self.is_called(self.program));
    BOOST_TEST(self.is_called(self.comm));
    BOOST_TEST(!self.is_called("another"));
    BOOST_TEST(self.reach("/tmp/x") == "/tmp/x"); // it is in this mount namespace
    BOOST_TEST(!self.has_shim());
    BOOST_TEST(!read_process(1 << 22).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
