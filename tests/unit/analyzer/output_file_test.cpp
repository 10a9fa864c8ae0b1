/// What -o names is written whole or not at all, and nothing that was there is lost.
#include "analyzer/cli/output_file.hpp"

#include "analyzer/files/short_lived.hpp"
#include "analyzer/reader/error.hpp"

#include <boost/test/unit_test.hpp>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_output_file)

using namespace umadvisor;
namespace fs = std::filesystem;

namespace {

struct Folder {
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "umadvisor-output-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return (path / name).string(); }
    long files() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
    fs::path path;
};

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

/// What it says; the test fails when it does not.
std::string refusal(const std::string& path, bool force, const std::string& text = "new") {
    try {
        cli::write_output_file(path, force, text);
    } catch (const reader::Error& error) {
        return error.what();
    }
    BOOST_ERROR(path << " was written");
    return {};
}

bool says(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos && message.find('\n') == std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_new_file_has_what_was_written_and_its_mode) {
    const Folder folder;
    cli::write_output_file(folder / "x", false, "new");
    cli::write_output_file(folder / "y", true, "", 0600);
    BOOST_TEST(read(folder / "x") == "new");
    BOOST_TEST(fs::file_size(folder / "y") == 0u);
    struct stat status {};
    BOOST_TEST(::stat((folder / "y").c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777) == 0600u);
    BOOST_TEST(folder.files() == 2);
}

BOOST_AUTO_TEST_CASE(what_is_there_is_replaced_only_where_that_was_asked_for) {
    const Folder folder;
    put(folder / "x", "old");
    BOOST_TEST(says(refusal(folder / "x", false), "exists already; -f replaces it"));
    BOOST_TEST(read(folder / "x") == "old");
    cli::write_output_file(folder / "x", true, "new");
    BOOST_TEST(read(folder / "x") == "new");
    BOOST_TEST(folder.files() == 1);
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_left_alone) {
    const Folder folder;
    put(folder / "precious", "old");
    fs::create_symlink(folder / "precious", folder / "link");
    fs::create_symlink(folder / "nothing", folder / "dangling");
    fs::create_directory(folder / "directory");
    BOOST_REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    for (const bool force : {false, true})
        for (const char* const name : {"link", "dangling", "directory", "fifo"})
            BOOST_TEST(says(refusal(folder / name, force), "is not a regular file"), name);
    BOOST_TEST(says(refusal("/dev/null", true), "is not a regular file"));
    BOOST_TEST(read(folder / "precious") == "old");
    BOOST_TEST(!fs::exists(folder / "nothing"));
    BOOST_TEST(folder.files() == 5);
}

BOOST_AUTO_TEST_CASE(names_that_cannot_be_made) {
    const Folder folder;
    put(folder / "file", "old");
    BOOST_TEST(says(refusal(folder / "nowhere/x", false), "No such file or directory"));
    BOOST_TEST(says(refusal(folder / "file/x", false), "Not a directory"));
    BOOST_TEST(says(refusal(folder / "nowhere/", false), "names no file"));
    BOOST_TEST(says(refusal("", false), "names no file"));
    BOOST_TEST(says(refusal(folder / std::string(300, 'x'), false), "File name too long"));
    BOOST_TEST(folder.files() == 1);
}

BOOST_AUTO_TEST_CASE(nothing_stays_of_what_was_not_committed) {
    const Folder folder;
    put(folder / "x", "old");
    {
        cli::OutputFile file(folder / "x", true);
        file.write("half of it");
    }
    BOOST_TEST(read(folder / "x") == "old");
    BOOST_TEST(folder.files() == 1);
}

BOOST_AUTO_TEST_CASE(a_name_that_another_has_taken_meanwhile_stays_with_it) {
    const Folder folder;
    {
        cli::OutputFile file(folder / "x", false);
        file.write("new");
        put(folder / "x", "of another");
        BOOST_CHECK_THROW(file.commit(), reader::Error);
    }
    BOOST_TEST(read(folder / "x") == "of another");
    BOOST_TEST(folder.files() == 1);
}

BOOST_AUTO_TEST_CASE(nothing_has_a_name_before_it_is_whole) {
    const Folder folder;
    cli::OutputFile file(folder / "x", false);
    file.write("half of it");
    BOOST_TEST(folder.files() == 0);
    BOOST_TEST(read(file.temporary()) == "half of it"); // for one who needs a name
    BOOST_TEST(folder.files() == 1);
    file.write(" and more");
    file.commit();
    BOOST_TEST(read(folder / "x") == "half of it and more");
    BOOST_TEST(folder.files() == 1);
}

/// What SIGKILL left goes with the next file that is written there; what may be in use, or another's, stays.
BOOST_AUTO_TEST_CASE(what_a_dead_writer_left_is_removed_after_a_day) {
    const Folder folder;
    const auto left = [&](const std::string& name, bool old) {
        const timespec then{::time(nullptr) - (old ? 2 : 0) * 86'400, 0}, both[2] = {then, then};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, (folder / name).c_str(), both, AT_SYMLINK_NOFOLLOW) == 0);
    };
    const std::string hex = "0123456789abcdef";
    for (const std::string& name :
         std::vector<std::string>{".umadvisor-" + hex, "umadvisor-notes", ".umadvisor-0123456789abcdeg",
                                  ".umadvisor-1" + hex.substr(1), ".umadvisor-2" + hex.substr(1)})
        put(folder / name, "remains");
    const std::string run = folder / ("umadvisor-run-" + hex);
    fs::create_directories(run + "/copy/of a tree");
    put(run + "/processes", "remains");
    put(run + "/copy/of a tree/source", "remains");
    fs::permissions(run + "/copy/of a tree", fs::perms::owner_read | fs::perms::owner_exec);
    fs::create_directory_symlink(folder.path, run + "/copy/link"); // it is removed, where it leads is not
    fs::create_symlink(folder / "umadvisor-notes", folder / (".umadvisor-3" + hex.substr(1)));
    for (const auto& entry : fs::directory_iterator(folder.path))
        left(entry.path().filename(), entry.path().filename().string().find("-1") == std::string::npos);
    const int locked = ::open((folder / (".umadvisor-2" + hex.substr(1))).c_str(), O_RDONLY | O_CLOEXEC);
    BOOST_REQUIRE(::flock(locked, LOCK_EX | LOCK_NB) == 0);
    cli::write_output_file(folder / "x", false, "new");
    ::close(locked);
    BOOST_TEST(!fs::exists(folder / (".umadvisor-" + hex)));
    BOOST_TEST(fs::exists(run)); // a user may have made it
    files::remove_left(folder.path.string(), files::Left::folder);
    BOOST_TEST(!fs::exists(run));
    BOOST_TEST(read(folder / "umadvisor-notes") == "remains");
    BOOST_TEST(read(folder / (".umadvisor-1" + hex.substr(1))) == "remains"); // a young one
    BOOST_TEST(read(folder / (".umadvisor-2" + hex.substr(1))) == "remains"); // its writer lives
    BOOST_TEST(fs::is_symlink(folder / (".umadvisor-3" + hex.substr(1))));
    BOOST_TEST(folder.files() == 6);
}

/// A limit on the size of files stands for the full disk: it stops a write in the middle, too.
BOOST_AUTO_TEST_CASE(a_full_disk_is_one_error_and_keeps_what_was_there) {
    const Folder folder;
    put(folder / "x", "old");
    rlimit before{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{100'000, before.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string said = refusal(folder / "x", true, std::string(1'000'000, 'x'));
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    BOOST_TEST(says(said, "File too large; nothing was written"), said);
    BOOST_TEST(read(folder / "x") == "old");
    BOOST_TEST(folder.files() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
