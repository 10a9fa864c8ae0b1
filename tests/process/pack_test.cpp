/// A packed trace says the same where the program, its sources and the symbol cache are gone.
#include "process.hpp"

#include <map>

BOOST_AUTO_TEST_SUITE(process_pack_test)

using namespace umadvisor::test;

namespace {

/// Its own declarations: it is compiled by the test, so that all of its files can be taken away.
constexpr const char* source = R"(
#include <vector>
extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuMemAlloc_v2(unsigned long long*, unsigned long);
int cuMemcpyHtoD_v2(unsigned long long, const void*, unsigned long);
int cuCtxSynchronize();
}
constexpr unsigned long bytes = 8 << 20;
[[gnu::always_inline]] inline int upload(unsigned long long device, const std::vector<char>& host) {
    return cuMemcpyHtoD_v2(device, host.data(), bytes);
}
int main() {
    void* context = nullptr;
    unsigned long long device = 0;
    const std::vector<char> host(bytes);
    int status = cuInit(0) | cuDevicePrimaryCtxRetain(&context, 0) | cuCtxSetCurrent(context);
    status |= cuMemAlloc_v2(&device, bytes); // never freed
    for (int i = 0; i < 10; ++i)
        status |= upload(device, host);
    return status | cuCtxSynchronize();
}
)";

using Shown = std::map<std::string, std::string>;

void check_same(const Shown& before, const Shown& after) {
    for (const auto& [command, text] : before)
        BOOST_TEST(after.at(command) == text, command);
}

struct Recorded {
    const Folder folder;

    /// plain/x.umtrace, recorded from built/program, of built/program.cpp.
    Recorded() {
        for (const char* const name : {"built", "plain", "packed"})
            fs::create_directory(folder.path / name);
        std::ofstream(folder / "built/program.cpp") << source;
        const Outcome made = run_sim(folder, "cd built && " UMADVISOR_CXX
                                             " -std=c++20 -O1 -g -Wl,--build-id -o program program.cpp '" +
                                                 simcuda + "/libcuda.so.1' && cd .. && " + advisor +
                                                 " run -q -o plain/x.umtrace -- built/program");
        BOOST_TEST_REQUIRE(made.status == 0, made.err);
    }

    Outcome pack(const std::string& options = "") const {
        return run(folder, advisor + " pack plain/x.umtrace -o packed/x.umtrace " + options);
    }

    /// All that is shown of the trace in a folder, by command. It is read under one name, which reports show.
    Shown shown(const std::string& place) const {
        run(folder, "rm -rf now && cp -rp " + place + " now");
        Shown all;
        for (const char* const command : {"report --all", "report --full-stacks", "report --json",
                                          "report --markdown", "report --sarif", "stats", "stats --format json",
                                          "tree", "tree --full-stacks", "flame", "flame --format speedscope"}) {
            const Outcome outcome = run(folder, advisor + " " + command + " now/x.umtrace");
            BOOST_TEST(outcome.status == 0, command << ": " << outcome.err);
            all[command] = outcome.out + outcome.err;
        }
        return all;
    }

    void remove(const std::vector<std::string>& names) const {
        for (const std::string& name : names)
            fs::remove_all(folder.path / name);
    }
};

bool has_line(const std::string& report) {
    return report.find("program.cpp:13 in upload()") != std::string::npos;
}

bool has_source(const std::string& report) {
    return report.find("return cuMemcpyHtoD_v2(device, host.data(), bytes);") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(it_says_the_same_without_program_sources_and_cache) {
    const Recorded recorded;
    const Outcome packed = recorded.pack("--source");
    BOOST_TEST_REQUIRE(packed.status == 0, packed.err);
    BOOST_TEST(packed.err == "");
    const Shown before = recorded.shown("plain");
    BOOST_TEST(has_line(before.at("report --all")), before.at("report --all"));
    BOOST_TEST(has_source(before.at("report --all")));
    check_same(before, recorded.shown("packed"));

    recorded.remove({"built", ".cache"});
    check_same(before, recorded.shown("packed"));
    // What the test stands on: without all that, the trace as it was recorded has lost its lines.
    BOOST_TEST(!has_line(recorded.shown("plain").at("report --all")));

    // Packed again, with nothing left to look up.
    const Outcome again = run(recorded.folder, "mkdir again && " + advisor +
                                                   " pack packed/x.umtrace --source -o again/x.umtrace");
    BOOST_TEST(again.status == 0, again.err);
    BOOST_TEST(read(recorded.folder / "again/x.umtrace") == read(recorded.folder / "packed/x.umtrace"));
}

BOOST_AUTO_TEST_CASE(source_lines_go_into_it_only_where_that_was_asked_for) {
    const Recorded recorded;
    BOOST_TEST(recorded.pack().status == 0);
    BOOST_TEST(!has_source(read(recorded.folder / "packed/x.umtrace")));
    recorded.remove({"built", ".cache"});
    const std::string report = recorded.shown("packed").at("report --all");
    BOOST_TEST(has_line(report), report);
    BOOST_TEST(!has_source(report), report);
}

BOOST_AUTO_TEST_CASE(the_cache_alone_keeps_the_lines) {
    const Recorded recorded;
    const Shown before = recorded.shown("plain");
    fs::remove(recorded.folder.path / "built/program");
    check_same(before, recorded.shown("plain"));
    // Another program of that name, as after a change and a build.
    fs::copy_file("/proc/self/exe", recorded.folder.path / "built/program");
    check_same(before, recorded.shown("plain"));
    BOOST_TEST(recorded.pack("--source").status == 0);
    recorded.remove({"built", ".cache"});
    check_same(before, recorded.shown("packed"));
}

BOOST_AUTO_TEST_CASE(a_full_disk_leaves_nothing_behind) {
    const Recorded recorded;
    const Outcome outcome =
        run(recorded.folder, "ulimit -f 8; " + advisor + " pack plain/x.umtrace -o packed/x.umtrace");
    BOOST_TEST(ends(outcome, 1, "nothing was written"));
    BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    BOOST_TEST(fs::is_empty(recorded.folder.path / "packed"));
}

BOOST_AUTO_TEST_SUITE_END()
