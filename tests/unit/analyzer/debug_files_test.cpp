/// Where debug information is looked for, and what becomes of files that are not what they should be.
#include "sample_library.hpp"
#include "text.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

BOOST_AUTO_TEST_SUITE(analyzer_debug_files)

using namespace umadvisor;
using namespace umadvisor::test;
namespace fs = std::filesystem;

namespace {

/// Without debug information and symbols but those that others link to.
std::string stripped(const Sample& sample, const std::string& to) {
    objcopy("--strip-all '" + sample.path + "' '" + to + "'");
    return to;
}

void debug_only(const Sample& sample, const std::string& to) {
    objcopy("--only-keep-debug '" + sample.path + "' '" + to + "'");
}

void write(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

BOOST_AUTO_TEST_CASE(functions_and_lines_in_every_form_of_debug_information) {
    for (const char* form : {"plain", "dwarf4", "split"}) {
        const Sample sample(form);
        const LookedUp found = look_up(sample, sample.path);
        BOOST_TEST(found.text() == whole_text(sample), form << ": " << found.text());
        BOOST_TEST(found.warnings.empty());
        BOOST_REQUIRE(found.places.size() == 2u);
        BOOST_TEST(found.places[0].inlined);
        BOOST_TEST(!found.places[1].inlined);
        BOOST_TEST(fs::is_regular_file(found.places[0].file.string()), found.places[0].file);
        BOOST_TEST(found.places[0].file == found.places[1].file);
    }
}

BOOST_AUTO_TEST_CASE(code_without_debug_information_has_no_line_of_its_neighbour) {
    Sample sample("plain");
    sample.address = sample.last;
    const LookedUp found = look_up(sample, sample.path);
    BOOST_TEST(found.text() == "_fini:0", found.text());
}

BOOST_AUTO_TEST_CASE(debug_information_without_a_table_of_addresses) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::string path = folder / "library.so";
    objcopy("--remove-section .debug_aranges '" + sample.path + "' '" + path + "'");
    BOOST_TEST(look_up(sample, path).text() == whole_text(sample));
}

BOOST_AUTO_TEST_CASE(stripped_alone_has_the_module_and_an_offset) {
    const Sample sample("plain");
    const SampleFolder folder;
    const LookedUp found = look_up(sample, stripped(sample, folder / "library.so"));
    BOOST_REQUIRE(found.places.size() == 1u);
    BOOST_TEST(found.places[0].file.empty());
    BOOST_TEST(found.places[0].text().starts_with("library.so+0x"), found.places[0].text());
    BOOST_TEST(found.warnings.empty());
}

BOOST_AUTO_TEST_CASE(debug_file_by_build_id_in_a_debug_folder) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::string path = stripped(sample, folder / "library.so");
    debug_only(sample, folder / ("debug/" + sample.debug_name()));
    BOOST_TEST(look_up(sample, path).text() != whole_text(sample));
    const LookedUp found = look_up(sample, path, {.debug_folders = {folder / "nothing", folder / "debug"}});
    BOOST_TEST(found.text() == whole_text(sample), found.text());
    BOOST_TEST(found.warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_trace_from_another_machine_is_looked_up_below_its_root) {
    const Sample sample("plain");
    const SampleFolder folder;
    stripped(sample, folder / "root/opt/app/library.so");
    debug_only(sample, folder / ("root/usr/lib/debug/" + sample.debug_name()));
    const LookedUp here = look_up(sample, "/opt/app/library.so");
    BOOST_TEST(here.warnings.size() == 1u);
    BOOST_TEST(here.places[0].text().starts_with("library.so+0x"));
    const LookedUp found = look_up(sample, "/opt/app/library.so", {.sysroot = folder / "root"});
    BOOST_TEST(found.text() == whole_text(sample), found.text());
    BOOST_TEST(found.places[0].module == "/opt/app/library.so");
    BOOST_TEST(found.warnings.empty());
}

BOOST_AUTO_TEST_CASE(debug_file_by_link) {
    const Sample sample("plain");
    for (const char* place : {"", ".debug/", "debug"}) {
        const SampleFolder folder;
        const bool elsewhere = std::string(place) == "debug";
        const std::string debug =
            folder / ((elsewhere ? "debug" + folder.path + "/" : place) + "library.so.debug");
        debug_only(sample, debug);
        const std::string path = folder / "library.so";
        objcopy("--strip-all --add-gnu-debuglink='" + debug + "' '" + sample.path + "' '" + path + "'");
        const LookedUp found = look_up(sample, path, {.debug_folders = {folder / "debug"}});
        BOOST_TEST(found.text() == whole_text(sample), place << ": " << found.text());
    }
}

BOOST_AUTO_TEST_CASE(a_debug_file_of_another_build_is_not_used) {
    const Sample sample("plain"), other("dwarf4");
    const SampleFolder folder;
    const std::string path = folder / "library.so", debug = folder / "library.so.debug";
    debug_only(sample, debug);
    objcopy("--strip-all --add-gnu-debuglink='" + debug + "' '" + sample.path + "' '" + path + "'");
    debug_only(other, debug);
    BOOST_TEST(look_up(sample, path).places[0].file.empty());
}

BOOST_AUTO_TEST_CASE(a_changed_file_is_refused_unless_the_old_one_is_kept_by_build_id) {
    const Sample sample("plain"), other("dwarf4");
    const SampleFolder folder;
    const std::string path = folder / "library.so";
    fs::copy_file(other.path, path);
    const LookedUp refused = look_up(sample, path);
    BOOST_TEST(refused.places[0].file.empty());
    BOOST_TEST(refused.places[0].text().starts_with("library.so+0x"));
    BOOST_REQUIRE(refused.warnings.size() == 1u);
    BOOST_TEST(contains(refused.warnings[0], "build id differs"));
    debug_only(sample, folder / ("debug/" + sample.debug_name()));
    const LookedUp found = look_up(sample, path, {.debug_folders = {folder / "debug"}});
    BOOST_TEST(found.text() == whole_text(sample), found.text());
    BOOST_TEST(found.warnings.empty());
    fs::remove(path); // a plug-in that was deleted
    BOOST_TEST(look_up(sample, path, {.debug_folders = {folder / "debug"}}).text() == whole_text(sample));
}

BOOST_AUTO_TEST_CASE(the_network_is_asked_on_request_only) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::string path = stripped(sample, folder / "library.so");
    std::string id = sample.debug_name().substr(10, 43);
    id.erase(2, 1);
    debug_only(sample, folder / ("server/buildid/" + id.substr(0, 40) + "/debuginfo"));
    const std::string url = "file://" + folder.path + "/server/";
    ::setenv("DEBUGINFOD_CACHE_PATH", (folder / "cache").c_str(), 1);
    ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
    BOOST_TEST(look_up(sample, path).places[0].file.empty());
    BOOST_TEST(!fs::exists(folder / "cache"));
    ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
    BOOST_TEST(look_up(sample, path, {.debuginfod = true}).text() == whole_text(sample));
}

BOOST_AUTO_TEST_CASE(a_cut_file_is_one_warning_and_no_more) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::vector<std::uint8_t> whole = bytes_of(sample.path);
    const std::string path = folder / "library.so";
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 8) {
        write(path, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
        const LookedUp found = look_up(sample, path);
        BOOST_TEST(!found.places.empty());
        BOOST_TEST(found.warnings.size() <= 1u);
    }
}

BOOST_AUTO_TEST_CASE(damaged_debug_information_does_no_harm) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::vector<std::uint8_t> whole = bytes_of(sample.path);
    const std::string path = folder / "library.so";
    std::uint32_t random = 12345;
    const auto next = [&random] { return random = random * 1664525 + 1013904223; };
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint8_t> bytes = whole;
        for (int i = 0; i < 40; ++i)
            bytes[64 + next() % (bytes.size() - 64)] = static_cast<std::uint8_t>(next() >> 24);
        write(path, bytes);
        const LookedUp found = look_up(sample, path);
        BOOST_TEST(!found.places.empty());
        BOOST_TEST(found.warnings.size() <= 1u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
