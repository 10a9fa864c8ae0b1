#include "analyzer/reports/comparison/reported_parts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::reports {
namespace {

constexpr std::size_t deepest_part = 4; ///< objects inside each other: managed.totals.told has three

constexpr auto list_members = std::to_array<std::string_view>({"calls", "copies", "findings", "unpriced"});
constexpr auto other_members =
    std::to_array<std::string_view>({"completeness", "dropped", "managed", "process", "schema"});
/// The names that a comparison reads, of all parts.
constexpr auto compared_names = std::to_array<std::string_view>({"advice",
                                                                 "allocation",
                                                                 "bytes",
                                                                 "bytes_to_device",
                                                                 "bytes_to_host",
                                                                 "call",
                                                                 "chunks_cut",
                                                                 "chunks_damaged",
                                                                 "chunks_lost",
                                                                 "chunks_missing",
                                                                 "confidence",
                                                                 "count",
                                                                 "destination_memory",
                                                                 "direction",
                                                                 "disk_full",
                                                                 "duration_ns",
                                                                 "events",
                                                                 "exact",
                                                                 "failed",
                                                                 "file",
                                                                 "function",
                                                                 "host_faults",
                                                                 "line",
                                                                 "module",
                                                                 "name",
                                                                 "net_ns",
                                                                 "no_memory",
                                                                 "program",
                                                                 "recorded_ns",
                                                                 "records_lacking",
                                                                 "rule",
                                                                 "saving_bytes",
                                                                 "saving_ns",
                                                                 "source_memory",
                                                                 "text",
                                                                 "time_ns",
                                                                 "title",
                                                                 "told",
                                                                 "totals"});
static_assert(std::ranges::is_sorted(compared_names));

template <std::size_t size>
bool has(const std::array<std::string_view, size>& names, std::string_view name) {
    return std::ranges::binary_search(names, name);
}

/// Keeps one part: a value, or an object with the members that are compared.
class Part {
public:
    bool begun() const { return begun_; }
    bool whole() const { return begun_ && open_.empty(); }
    ReportedJson take() {
        begun_ = false;
        return std::exchange(value_, nullptr);
    }
    void key(std::string& name) { key_ = has(compared_names, name) ? std::exchange(name, {}) : std::string(); }
    /// Returns whether the contents of a container are to be given, too, and then close().
    bool add(ReportedJson value) {
        const bool inner = value.is_object() && open_.size() < deepest_part;
        ReportedJson* at = &value_;
        if (begun_) {
            if (key_.empty())
                return false;
            at = &(*open_.back())[key_];
        }
        begun_ = true;
        *at = std::move(value);
        if (inner)
            open_.push_back(at);
        return inner;
    }
    void close() { open_.pop_back(); }

private:
    ReportedJson value_;
    std::vector<ReportedJson*> open_; ///< objects
    std::string key_;                 ///< of what comes next; empty: it is left out
    bool begun_ = false;
};

class Reader final : public nlohmann::json_sax<ReportedJson> {
public:
    explicit Reader(const ReportedPartVisitor& visitor) : visitor_(visitor) {}

    bool null() override { return scalar(nullptr); }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
    bool string(string_t& value) override { return scalar(std::move(value)); }
    bool binary(binary_t&) override { return false; } // there is none in text
    bool start_object(std::size_t) override { return open(ReportedJson::object()); }
    bool start_array(std::size_t) override { return open(ReportedJson::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }
    bool key(string_t& name) override {
        if (depth_ == report_depth_ && skipped_ == 0)
            member_ = has(list_members, name) || has(other_members, name) ? name : std::string();
        else if (part_.begun())
            part_.key(name);
        return true;
    }

private:
    bool at_report() const { return depth_ + 1 == report_depth_; }

    bool scalar(ReportedJson value) {
        if (depth_ == 0)
            report_depth_ = 1;
        if (at_report())
            no_report();
        else
            add(std::move(value));
        return true;
    }
    void no_report() {
        visitor_.begin();
        visitor_.end();
    }
    bool open(ReportedJson empty) {
        const bool object = empty.is_object();
        if (depth_ == 0)
            report_depth_ = object ? 1 : 2;
        if (at_report() && object)
            visitor_.begin();
        else if (at_report())
            no_report();
        if (at_report() ? !object : depth_ >= report_depth_ && !add(std::move(empty)))
            skipped_ = skipped_ != 0 ? skipped_ : depth_ + 1; // up to its end
        ++depth_;
        return true;
    }
    bool close() {
        if (--depth_ < skipped_) {
            skipped_ = 0;
        } else if (skipped_ == 0 && part_.begun()) {
            part_.close();
            finish();
        } else if (skipped_ == 0 && at_report()) {
            visitor_.end();
        }
        return true;
    }
    /// Returns whether the contents of a container are of use.
    bool add(ReportedJson value) {
        if (skipped_ != 0 || member_.empty())
            return false;
        if (!part_.begun() && depth_ == report_depth_ && value.is_array() && has(list_members, member_)) {
            visitor_.part(member_, value);
            return true;
        }
        const bool inner = part_.add(std::move(value));
        finish();
        return inner;
    }
    void finish() {
        if (part_.whole())
            (depth_ == report_depth_ ? visitor_.part : visitor_.row)(member_, part_.take());
    }

    const ReportedPartVisitor& visitor_;
    Part part_;
    std::string member_; ///< of the report, that is being read; empty: one that is not compared
    /// Containers that are open, around the members of a report, and around what is left out.
    std::size_t depth_ = 0, report_depth_ = 0, skipped_ = 0;
};

} // namespace

bool visit_reported(std::string_view text, const ReportedPartVisitor& visitor) {
    Reader reader(visitor);
    return ReportedJson::sax_parse(text, &reader);
}

} // namespace umadvisor::reports
