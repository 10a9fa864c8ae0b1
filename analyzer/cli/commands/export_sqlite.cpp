#include "analyzer/cli/commands/export_format.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reports/sqlite/sql_export.hpp"

#include <pwd.h>
#include <string>
#include <sys/stat.h>

namespace umadvisor::cli {
namespace {

/// Whose trace it is; the number where that has no name here.
std::string owner_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return {};
    const passwd* const user = ::getpwuid(status.st_uid);
    return user == nullptr ? std::to_string(status.st_uid) : user->pw_name;
}

/// SQLite would take what another database left beside it for part of the new one (sqlite.org, "How To Corrupt
/// An SQLite Database File"). Throws reader::Error.
void check_stands_alone(const std::string& output) {
    for (const char* suffix : {"-wal", "-shm", "-journal"})
        if (struct stat status{}; ::lstat((output + suffix).c_str(), &status) == 0)
            throw reader::Error(fmt::format(
                "{}{}: belongs to a database that is open or was not closed; remove it, or name another output",
                output, suffix));
}

void write_sqlite(const Arguments& arguments, OutputFile& file) {
    check_stands_alone(arguments.value("--output"));
    reports::SqlExport out(file.temporary(), arguments.value("--output"));
    for_each_report(arguments,
                    [&](advice::Report& report, const std::string& path) { out.add(report, owner_of(path)); });
    out.finish();
}

} // namespace

const ExportFormat& sqlite_format() {
    static const ExportFormat format{
        {"--sqlite", "", "A database of calls, copies, launches, memory and findings, of any number of traces"},
        {},
        SIZE_MAX,
        nullptr,
        &write_sqlite};
    return format;
}

} // namespace umadvisor::cli
