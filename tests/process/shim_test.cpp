/// What the shim's file may need and show.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace umadvisor::test;

namespace {

std::set<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

const std::string listed =
    "sed -n 's/^API[_A-Z]*(\\([A-Za-z0-9_]*\\).*/\\1/p' '" UMADVISOR_SOURCE "/interposer/driver_api.def'";

} // namespace

BOOST_AUTO_TEST_CASE(needs_nothing_but_libc) {
    const Folder folder;
    const auto needed =
        words(run(folder, "readelf -d " + shim + " | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'").out);
    const std::set<std::string> allowed{"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
    BOOST_TEST(!needed.empty());
    for (const std::string& library : needed)
        BOOST_TEST(allowed.count(library) == 1u, library);
}

BOOST_AUTO_TEST_CASE(needs_no_symbol_newer_than_glibc_2_34) {
    const Folder folder;
    const auto versions = words(run(folder, "objdump -T " + shim + " | grep -o 'GLIBC_[0-9.]*' | sort -u").out);
    BOOST_TEST(!versions.empty());
    for (const std::string& version : versions) {
        const int minor = std::stoi(version.substr(std::string("GLIBC_2.").size()));
        BOOST_TEST(minor <= 34, version);
    }
}

BOOST_AUTO_TEST_CASE(exports_the_list_and_dlsym) {
    const Folder folder;
    auto expected = words(run(folder, listed).out);
    BOOST_TEST(expected.size() > 637u);
    expected.insert("dlsym");
    const auto exported =
        words(run(folder, "nm -D --defined-only " + shim + " | awk '{print $3}' | sed 's/@.*//'").out);
    BOOST_TEST((exported == expected));
}

BOOST_AUTO_TEST_CASE(the_list_covers_the_stub_library) {
    const Folder folder;
    const auto stub = words(run(folder, "nm -D --defined-only '" UMADVISOR_STUB "' | awk '{print $3}'").out);
    BOOST_TEST(!stub.empty());
    const auto covered = words(run(folder, listed).out);
    for (const std::string& symbol : stub)
        BOOST_TEST(covered.count(symbol) == 1u, symbol);
}

BOOST_AUTO_TEST_CASE(is_not_noticed_where_there_is_no_cuda) {
    const Folder folder;
    const Outcome outcome =
        run(folder, "LD_PRELOAD=" + shim + " python3 -c 'import ctypes, threading; print(sum(range(10)))'");
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(outcome.out == "45\n");
    BOOST_TEST(outcome.err == "");
}

BOOST_AUTO_TEST_CASE(readme_and_help_tell_every_setting) {
    const Folder folder;
    const std::string readme = read(UMADVISOR_SOURCE "/README.md");
    const std::string help = run(folder, advisor + " help env").out;
    std::size_t settings = 0;
#define OPTION(name, type, default_value, text)                                                                \
    ++settings;                                                                                                \
    BOOST_TEST(readme.find("| `UMADVISOR_" #name "` | " #type " | ") != std::string::npos, #name);             \
    BOOST_TEST(readme.find(text) != std::string::npos, #name);                                                 \
    BOOST_TEST(help.find("UMADVISOR_" #name) != std::string::npos, #name);
#include "interposer/runtime/options.def"
    BOOST_TEST(settings > 0u);
}
