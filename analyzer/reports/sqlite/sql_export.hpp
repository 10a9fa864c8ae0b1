/// Runs as tables of an SQLite database.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/sqlite/database.hpp"

#include <cstdint>
#include <string>

namespace umadvisor::reports {

/// Writes runs into one database: sql_schema.hpp has its tables. Memory: what a walk over a run takes, live
/// allocations and the 4,096 freed last; it does not grow with events.
class SqlExport {
public:
    /// `path`: a file that is there and empty. `name`: what errors call it. Throws reader::Error, as all of it
    /// does.
    SqlExport(const std::string& path, const std::string& name);

    /// `user`: whose trace it is. Reads the trace once more.
    void add(advice::Report& report, const std::string& user);
    /// Call once, after the last.
    void finish();

    /// Rows of all runs so far.
    struct Rows {
        std::int64_t runs = 0, calls = 0, copies = 0, launches = 0;
    };

private:
    Database database_;
    Rows rows_;
};

} // namespace umadvisor::reports
