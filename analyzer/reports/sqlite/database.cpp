#include "analyzer/reports/sqlite/database.hpp"

#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <climits>
#include <sqlite3.h>
#include <utility>

namespace umadvisor::reports {

Database::Database(const std::string& path, std::string name) : name_(std::move(name)) {
    // SQLite's locks are off: no other process opens the file, and on NFS they would clash with the caller's
    // lock.
    check(sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none"));
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
        "PRAGMA cache_size = -32768; BEGIN");
}

Database::~Database() {
    sqlite3_close_v2(database_);
}

void Database::check(int result) const {
    if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW)
        return;
    const char* const why = database_ == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database_);
    throw reader::Error(fmt::format("{}: {}; nothing was written", name_, why));
}

void Database::run(const std::string& sql) {
    check(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr));
}

void Database::close() {
    run("COMMIT");
    check(sqlite3_close(std::exchange(database_, nullptr)));
}

Insert::Insert(Database& database, std::string_view table, int columns) : database_(database) {
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (int column = 1; column < columns; ++column)
        sql += ",?";
    sql += ")";
    database.check(sqlite3_prepare_v3(database.database_, sql.c_str(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
}

Insert::~Insert() {
    sqlite3_finalize(statement_);
}

void Insert::bind_number(std::int64_t value) {
    database_.check(sqlite3_bind_int64(statement_, ++column_, value));
}

void Insert::bind_null() {
    database_.check(sqlite3_bind_null(statement_, ++column_));
}

void Insert::bind(double value) {
    database_.check(sqlite3_bind_double(statement_, ++column_, value));
}

void Insert::bind(std::string_view text) {
    const auto bytes = static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX));
    // No text of its own: a null pointer would be NULL.
    database_.check(
        sqlite3_bind_text(statement_, ++column_, text.empty() ? "" : text.data(), bytes, SQLITE_STATIC));
}

void Insert::step() {
    database_.check(sqlite3_step(statement_));
    database_.check(sqlite3_reset(statement_));
}

} // namespace umadvisor::reports
