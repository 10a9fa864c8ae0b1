/// What was looked up before is found again, and nothing that lies in the cache can do harm.
#include "analyzer/symbols/cache_format.hpp"
#include "sample_library.hpp"
#include "trace/checksum.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(analyzer_symbol_cache)

using namespace umadvisor;
using namespace umadvisor::test;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
        files.push_back(entry.path());
    return files;
}

void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string read(const fs::path& path) {
    const std::vector<std::uint8_t> bytes = bytes_of(path.string());
    return {bytes.begin(), bytes.end()};
}

/// A file that says another function's name: shown only when it is believed.
std::string changed_names(const std::string& bytes) {
    symbols::KnownPlaces known = symbols::decode_places(bytes);
    BOOST_REQUIRE(!known.empty());
    for (auto& [address, places] : known)
        for (symbols::CodePlace& place : places)
            place.function = "from_the_cache";
    return symbols::encode_places(known);
}

bool from_the_cache(const LookedUp& found) {
    return found.text().find("from_the_cache") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_looked_up_is_found_again_without_the_debug_information) {
    const Sample sample("plain");
    const SampleFolder folder;
    const symbols::Options options{.cache = folder / "cache/symbols"};
    BOOST_TEST(look_up(sample, sample.path, options).text() == whole_text(sample));
    const auto files = files_in(options.cache);
    BOOST_REQUIRE(files.size() == 1u);
    struct stat status {};
    BOOST_TEST(::stat(files[0].c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777) == 0600u);

    std::size_t lookups = 0;
    symbols::Options counted = options;
    counted.progress = [&](std::string_view, std::size_t) { ++lookups; };
    const LookedUp again = look_up(sample, sample.path, counted);
    BOOST_TEST(again.text() == whole_text(sample));
    BOOST_TEST(again.places[0].module == sample.path);
    BOOST_TEST(lookups == 0u);

    write(files[0], changed_names(read(files[0])));
    BOOST_TEST(from_the_cache(look_up(sample, sample.path, options)));
    BOOST_TEST(!from_the_cache(look_up(sample, sample.path, {}))); // as with --no-cache
}

BOOST_AUTO_TEST_CASE(damage_anywhere_is_noticed_and_repaired) {
    const Sample sample("plain");
    const SampleFolder folder;
    const symbols::Options options{.cache = folder / "cache"};
    look_up(sample, sample.path, options);
    const fs::path file = files_in(options.cache).at(0);
    const std::string whole = read(file), changed = changed_names(whole);
    for (std::size_t at = 0; at < changed.size(); ++at) {
        std::string bytes = changed;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        BOOST_TEST(symbols::decode_places(bytes).empty(), at);
        BOOST_TEST(symbols::decode_places(changed.substr(0, at)).empty(), at);
    }
    for (const std::string& bytes : {std::string(), std::string(100, '\xff'), changed.substr(0, 60)}) {
        write(file, bytes);
        BOOST_TEST(look_up(sample, sample.path, options).text() == whole_text(sample));
        BOOST_TEST((symbols::decode_places(read(file)).size() == 1u));
    }
}

BOOST_AUTO_TEST_CASE(numbers_with_a_right_checksum_are_not_believed_either) {
    symbols::KnownPlaces known;
    known[7].emplace_back().function = "f";
    const std::string whole = symbols::encode_places(known);
    BOOST_REQUIRE(symbols::decode_places(whole).size() == 1u);
    // Every number of the body in turn made huge, and the checksum (the header's third number) made to fit:
    // neither a crash nor memory by what the numbers say.
    for (const char byte : {'\x7f', '\xff'})
        for (std::size_t at = 40; at + 8 <= whole.size(); at += 8) {
            std::string bytes = whole;
            bytes.replace(at, 8, std::string(8, byte));
            const std::uint64_t sum =
                trace::checksum(reinterpret_cast<const std::uint8_t*>(bytes.data()) + 40, bytes.size() - 40);
            std::memcpy(bytes.data() + 16, &sum, sizeof sum);
            for (const auto& [address, places] : symbols::decode_places(bytes)) {
                BOOST_TEST(places.size() == 1u, address);
                BOOST_TEST(places.at(0).line >= 0, at);
            }
        }
}

BOOST_AUTO_TEST_CASE(debug_information_that_comes_later_is_seen) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::string path = folder / "library.so";
    objcopy("--strip-all '" + sample.path + "' '" + path + "'");
    const symbols::Options options{.debug_folders = {folder / "debug"}, .cache = folder / "cache"};
    BOOST_TEST(look_up(sample, path, options).text() != whole_text(sample));
    objcopy("--only-keep-debug '" + sample.path + "' '" + folder / ("debug/" + sample.debug_name()) + "'");
    BOOST_TEST(look_up(sample, path, options).text() == whole_text(sample));
}

BOOST_AUTO_TEST_CASE(a_changed_binary_tells_nothing_of_the_one_that_ran) {
    const Sample sample("plain"), other("dwarf4");
    const SampleFolder folder;
    const std::string path = folder / "library.so";
    const symbols::Options options{.cache = folder / "cache"};
    fs::copy_file(sample.path, path);
    BOOST_TEST(look_up(sample, path, options).text() == whole_text(sample));
    fs::copy_file(other.path, path, fs::copy_options::overwrite_existing);
    // What was looked up in the one that ran is as true as before.
    const LookedUp remembered = look_up(sample, path, options);
    BOOST_TEST(remembered.text() == whole_text(sample));
    BOOST_TEST(remembered.warnings.empty());
    const LookedUp refused = look_up(sample, path, {});
    BOOST_TEST(refused.places[0].file.empty());
    BOOST_TEST(refused.warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_cache_answers_for_an_object_that_is_gone) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::string path = folder / "library.so";
    const symbols::Options options{.cache = folder / "cache"};
    fs::copy_file(sample.path, path);
    look_up(sample, path, options);
    fs::remove(path);
    const LookedUp found = look_up(sample, path, options);
    BOOST_TEST(found.text() == whole_text(sample));
    BOOST_TEST(found.places[0].module == path);
    BOOST_TEST(found.warnings.empty());
    BOOST_TEST(look_up(sample, "/another/machine/library.so", options).text() == whole_text(sample));
    BOOST_TEST(files_in(options.cache).size() == 1u); // nothing was learned

    // An address that was never looked up, and an object that is not in the cache: one line of why.
    Sample unknown = sample;
    unknown.address = sample.last;
    BOOST_TEST(look_up(unknown, path, options).warnings.size() == 1u);
    unknown = sample;
    unknown.build_id.back() = static_cast<char>(unknown.build_id.back() ^ 1);
    const LookedUp missed = look_up(unknown, path, options);
    BOOST_TEST(missed.places[0].file.empty());
    BOOST_TEST(missed.warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(of_several_states_the_one_with_more_lines_is_believed_then_the_newer) {
    const Sample sample("plain");
    const SampleFolder folder;
    const std::string gone = folder / "gone.so";
    const symbols::Options options{.cache = folder / "cache"};
    look_up(sample, sample.path, options);
    const fs::path whole = files_in(options.cache).at(0);
    const std::string name = whole.string().substr(0, whole.string().rfind('-')), bytes = read(whole);
    const auto put = [&](const std::string& state, const std::string& content, int hours) {
        write(name + "-" + state, content);
        fs::last_write_time(name + "-" + state, fs::file_time_type::clock::now() + std::chrono::hours(hours));
    };
    symbols::KnownPlaces without_lines = symbols::decode_places(bytes);
    for (auto& [address, places] : without_lines)
        for (symbols::CodePlace& place : places) {
            place.file = {};
            place.line = 0;
        }
    put("0000000000000000", symbols::encode_places(without_lines), 1);
    BOOST_TEST(look_up(sample, gone, options).text() == whole_text(sample));
    put("ffffffffffffffff", changed_names(bytes), 2);
    BOOST_TEST(from_the_cache(look_up(sample, gone, options)));
    put("ffffffffffffffff", changed_names(bytes), -2);
    BOOST_TEST(look_up(sample, gone, options).text() == whole_text(sample));
    // The object itself comes before all of them.
    put("ffffffffffffffff", changed_names(bytes), 2);
    fs::remove(whole);
    BOOST_TEST(look_up(sample, sample.path, options).text() == whole_text(sample));
}

BOOST_AUTO_TEST_CASE(what_is_no_file_of_ours_is_left_alone) {
    const Sample sample("plain");
    const SampleFolder folder;
    const symbols::Options options{.cache = folder / "cache"};
    look_up(sample, sample.path, options);
    const fs::path file = files_in(options.cache).at(0);
    write(folder / "precious", changed_names(read(file)));
    const std::string precious = read(folder / "precious");
    fs::remove(file);
    fs::create_symlink(folder / "precious", file);
    BOOST_TEST(look_up(sample, sample.path, options).text() == whole_text(sample));
    BOOST_TEST(read(folder / "precious") == precious);
    fs::remove(file);
    BOOST_REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    BOOST_TEST(look_up(sample, sample.path, options).text() == whole_text(sample));
    // A folder that cannot be made is as good as none.
    BOOST_TEST(look_up(sample, sample.path, {.cache = "/proc/nowhere"}).text() == whole_text(sample));
    BOOST_TEST(look_up(sample, sample.path, {.cache = folder / "precious"}).text() == whole_text(sample));
}

BOOST_AUTO_TEST_CASE(the_folder_stays_bounded) {
    const Sample sample("plain");
    const SampleFolder folder;
    const symbols::Options options{.cache = folder / "cache"};
    fs::create_directories(options.cache);
    for (int i = 0; i < 40; ++i) { // 400 MiB, none of it on the disk
        const fs::path old = fs::path(options.cache) / ("old" + std::to_string(i));
        write(old, "");
        fs::resize_file(old, 10 << 20);
        fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
    }
    look_up(sample, sample.path, options);
    std::uintmax_t sum = 0;
    for (const fs::path& file : files_in(options.cache))
        sum += fs::file_size(file);
    BOOST_TEST(sum <= 256u << 20);
    BOOST_TEST(sum > 200u << 20);
    BOOST_TEST(!fs::exists(fs::path(options.cache) / "old0"));
    BOOST_TEST(fs::exists(fs::path(options.cache) / "old39"));
}

BOOST_AUTO_TEST_SUITE_END()
