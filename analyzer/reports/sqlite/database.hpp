/// SQLite, as far as an export needs it.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "trace/ids.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace umadvisor::reports {

/// A new database that no other connection opens. It is whole or discarded: no journal and no fsync are needed.
class Database {
public:
    /// `path`: a file that is there and empty. `name`: what errors call it. Throws reader::Error, as all of it
    /// does.
    Database(const std::string& path, std::string name);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    void run(const std::string& sql);
    /// All that was written is in the file from then on.
    void close();

private:
    friend class Insert;
    void check(int result) const;

    std::string name_;
    sqlite3* database_ = nullptr;
};

/// A number or NULL.
struct Nullable {
    Nullable() = default;
    template <std::integral Number>
    explicit Nullable(Number number) : value(static_cast<std::int64_t>(number)), known(true) {}
    std::int64_t value = 0;
    bool known = false;
};

/// Rows of one table.
class Insert {
public:
    /// `database` must outlive it.
    Insert(Database& database, std::string_view table, int columns);
    ~Insert();
    Insert(const Insert&) = delete;
    Insert& operator=(const Insert&) = delete;

    /// Numbers above 2^63 become negative: SQLite has no others.
    template <class... Values>
    void row(const Values&... values) {
        column_ = 0;
        (bind(values), ...);
        step();
    }

private:
    template <std::integral Value>
    void bind(Value value) {
        bind_number(static_cast<std::int64_t>(value));
    }
    void bind(ids::StackId stack) { bind(stack.packed()); }
    template <class Id>
    requires trace::is_id<Id>
    void bind(Id id) { bind(trace::number(id)); }
    void bind(const Nullable& number) { number.known ? bind_number(number.value) : bind_null(); }
    void bind(double value);
    void bind(const std::optional<std::uint64_t>& number) { bind(number ? Nullable(*number) : Nullable()); }
    void bind(const std::optional<double>& value) { value ? bind(*value) : bind_null(); }
    void bind(std::string_view text); ///< valid until the row is written
    void bind_number(std::int64_t value);
    void bind_null();
    void step();

    Database& database_;
    sqlite3_stmt* statement_ = nullptr;
    int column_ = 0;
};

} // namespace umadvisor::reports
