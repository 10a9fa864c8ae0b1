#include "analyzer/reports/comparison/reported.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reports/comparison/reported_parts.hpp"

#include <algorithm>
#include <climits>

namespace umadvisor::reports {
namespace {

constexpr const char* make_anew = "; create it again with umadvisor report --json TRACE";

/// Takes values out of a document that may hold anything. What is absent or null is empty.
class ReportedValues {
public:
    explicit ReportedValues(const std::string& path) : path_(path) {}

    [[noreturn]] void wrong(const std::string& what) const {
        throw reader::Error(fmt::format("{}: cannot be compared: {}{}", path_, what, make_anew));
    }

    const ReportedJson& at(const ReportedJson& object, const char* key) const {
        static const ReportedJson nothing;
        const auto found = object.find(key); // the end, too, of what is no object
        return found == object.end() ? nothing : *found;
    }
    const ReportedJson& object(const ReportedJson& parent, const char* key) const {
        return checked(at(parent, key), key, &ReportedJson::is_object);
    }
    std::string text(const ReportedJson& parent, const char* key) const {
        const ReportedJson& value = checked(at(parent, key), key, &ReportedJson::is_string);
        return value.is_null() ? std::string() : reader::plain(value.get<std::string>());
    }
    std::uint64_t number(const ReportedJson& parent, const char* key) const {
        const ReportedJson& value = checked(at(parent, key), key, &ReportedJson::is_number_unsigned);
        return value.is_null() ? 0 : value.get<std::uint64_t>();
    }
    double amount(const ReportedJson& parent, const char* key) const {
        const ReportedJson& value = checked(at(parent, key), key, &ReportedJson::is_number);
        const double amount = value.is_null() ? 0 : value.get<double>();
        if (!(amount >= 0))
            wrong_value(key);
        return amount;
    }

    const ReportedJson& checked(const ReportedJson& value, const char* key,
                                bool (ReportedJson::*right)() const noexcept) const {
        if (!value.is_null() && !(value.*right)())
            wrong_value(key);
        return value;
    }

private:
    [[noreturn]] void wrong_value(const char* key) const {
        wrong(fmt::format("{} is not what a report has there", key));
    }

    const std::string& path_;
};

symbols::CodePlace reported_place(const ReportedValues& values, const ReportedJson& line) {
    symbols::CodePlace place;
    place.function = values.text(line, "function");
    place.file = values.text(line, "file");
    place.line = static_cast<int>(std::min<std::uint64_t>(values.number(line, "line"), INT_MAX));
    place.module = values.text(line, "module");
    return place;
}

rules::Confidence reported_confidence(const ReportedValues& values, const ReportedJson& finding) {
    if (const auto confidence = rules::confidence_called(values.text(finding, "confidence")))
        return *confidence;
    values.wrong("confidence is none of low, medium and high");
}

ReportedFinding reported_finding(const ReportedValues& values, const ReportedJson& object, bool unpriced) {
    if (!object.is_object())
        values.wrong("a finding is no object");
    ReportedFinding finding;
    finding.rule = values.text(object, "rule");
    if (finding.rule.empty())
        values.wrong("a finding has no rule");
    finding.name = values.text(object, "name");
    // umadvisor-report-1 has the name where the id is now. Rules that no longer exist keep their name.
    if (const rules::Rule* const known = rules::find_rule(finding.rule)) {
        finding.rule = known->id;
        finding.name = known->name;
    } else if (finding.name.empty()) {
        finding.name = finding.rule;
    }
    finding.title = values.text(object, "title");
    finding.advice = values.text(object, "advice");
    const ReportedJson& line = values.object(object, "line");
    finding.line = reported_place(values, line);
    finding.line_text = values.text(line, "text");
    finding.allocation_line =
        reported_place(values, values.object(values.object(object, "allocation"), "line"));
    finding.saving_ns = values.amount(object, "saving_ns");
    finding.saving_bytes = values.number(object, "saving_bytes");
    finding.unpriced = unpriced;
    finding.confidence = reported_confidence(values, object);
    return finding;
}

void add_managed(const ReportedValues& values, const ReportedJson& managed, ReportedTotals& totals) {
    const ReportedJson& told = values.object(managed, "totals");
    if (told.is_null())
        return;
    // With pagemap as the source, the page table shows where memory is, but no moves are counted.
    if (values.at(told, "exact") == false && values.number(values.object(told, "told"), "events") == 0 &&
        values.number(told, "bytes_to_device") == 0 && values.number(told, "bytes_to_host") == 0) {
        ++totals.moves_unknown;
        return;
    }
    if (!totals.managed)
        totals.managed.emplace();
    reader::add_saturated(totals.managed->bytes_to_device, values.number(told, "bytes_to_device"));
    reader::add_saturated(totals.managed->bytes_to_host, values.number(told, "bytes_to_host"));
    if (!values.at(told, "host_faults").is_null())
        totals.managed->host_faults =
            reader::saturated_sum(totals.managed->host_faults.value_or(0), values.number(told, "host_faults"));
}

void add_process(const ReportedValues& values, const ReportedJson& process, ReportedTotals& totals) {
    if (totals.reports == 1)
        totals.program = values.text(process, "program");
    const std::uint64_t duration = values.number(process, "duration_ns");
    // Older reports have no other times.
    const auto part = [&](const char* key, std::uint64_t otherwise) {
        return values.at(process, key).is_null() ? otherwise : values.number(process, key);
    };
    const std::uint64_t recorded = part("recorded_ns", duration);
    reader::add_saturated(totals.duration_ns, duration);
    reader::add_saturated(totals.recorded_ns, recorded);
    reader::add_saturated(totals.net_ns, part("net_ns", recorded));
}

void add_copies(const ReportedValues& values, const ReportedJson& row, ReportedCopies& copies) {
    reader::add_saturated(copies.count, values.number(row, "count"));
    reader::add_saturated(copies.bytes, values.number(row, "bytes"));
    reader::add_saturated(copies.time_ns, values.number(row, "time_ns"));
}

void add_call(const ReportedValues& values, const ReportedJson& row, ReportedTotals& totals) {
    ReportedCalls& calls = totals.calls[values.text(row, "call")];
    reader::add_saturated(calls.count, values.number(row, "count"));
    reader::add_saturated(calls.failed, values.number(row, "failed"));
    reader::add_saturated(calls.time_ns, values.number(row, "time_ns"));
}

/// Whether records are missing. All reports have the numbers; newer ones have a flag, too.
bool reported_lack(const ReportedValues& values, std::string_view member, const ReportedJson& part) {
    std::uint64_t lost = 0;
    if (member == "completeness") {
        lost = values.at(part, "records_lacking") == true ? 1 : 0;
        for (const char* const key : {"chunks_missing", "chunks_cut", "chunks_damaged", "chunks_lost"})
            reader::add_saturated(lost, values.number(part, key));
    } else {
        for (const char* const key : {"disk_full", "no_memory"})
            reader::add_saturated(lost, values.number(part, key));
    }
    return lost != 0;
}

void check_schema(const ReportedValues& values, const std::string& name, bool has_findings) {
    if (!name.starts_with("umadvisor-report-"))
        values.wrong("it is JSON, but no report");
    if (name != "umadvisor-report-1" && name != "umadvisor-report-2")
        values.wrong("its schema is newer than this umadvisor");
    if (!has_findings)
        values.wrong("it has no list of findings");
}

/// One document. What is wrong in a report is said once it is known to be one.
class ReportedReader {
public:
    ReportedReader(const std::string& path, std::deque<ReportedFinding>& findings, ReportedTotals& totals)
        : values_(path), findings_(findings), totals_(totals) {}

    bool read(std::string_view text) {
        const auto guarded = [this](void (ReportedReader::*take)(std::string_view, const ReportedJson&)) {
            return [this, take](std::string_view member, const ReportedJson& value) {
                try {
                    if (wrong_.empty() || (take == &ReportedReader::part && says_what_it_is(member)))
                        (this->*take)(member, value);
                } catch (const reader::Error& error) {
                    wrong_ = error.what();
                }
            };
        };
        if (!visit_reported(text, {[this] { begin(); }, [this] { end(); }, guarded(&ReportedReader::part),
                                   guarded(&ReportedReader::row)}))
            values_.wrong("its JSON is cut or damaged");
        if (!none_.empty())
            throw reader::Error(none_);
        if (!any_)
            values_.wrong("it is an empty list");
        return lacks_;
    }

private:
    void begin() {
        any_ = true;
        schema_.clear();
        has_findings_ = false;
        ++totals_.reports;
    }
    void end() {
        if (!none_.empty())
            return;
        try {
            check_schema(values_, schema_, has_findings_);
            none_ = wrong_;
        } catch (const reader::Error& error) {
            none_ = error.what();
        }
    }
    /// Members that show whether the document is a report, whatever is wrong in it.
    static bool says_what_it_is(std::string_view member) { return member == "schema" || member == "findings"; }
    void part(std::string_view member, const ReportedJson& value) {
        if (says_what_it_is(member)) {
            schema_ = member == "schema" && value.is_string() ? value.get<std::string>() : schema_;
            has_findings_ = member == "findings" ? value.is_array() : has_findings_;
        } else if (member == "copies" || member == "calls" || member == "unpriced") {
            values_.checked(value, std::string(member).c_str(), &ReportedJson::is_array);
        } else {
            values_.checked(value, std::string(member).c_str(), &ReportedJson::is_object);
            if (member == "process")
                add_process(values_, value, totals_);
            else if (member == "managed")
                add_managed(values_, value, totals_);
            else
                lacks_ = reported_lack(values_, member, value) || lacks_;
        }
    }
    void row(std::string_view member, const ReportedJson& value) {
        if (member == "findings" || member == "unpriced") {
            findings_.push_back(reported_finding(values_, value, member == "unpriced"));
            return;
        }
        if (!value.is_object())
            values_.wrong(fmt::format("a row of {} is no object", member));
        if (member == "calls")
            return add_call(values_, value, totals_);
        add_copies(values_, value, totals_.copies);
        add_copies(
            values_, value,
            totals_.copies_of_kind[{values_.text(value, "direction"), values_.text(value, "source_memory"),
                                    values_.text(value, "destination_memory")}]);
    }

    ReportedValues values_;
    std::deque<ReportedFinding>& findings_;
    ReportedTotals& totals_;
    std::string schema_;
    std::string wrong_, none_; ///< what is wrong in a part; with a report, and so with the document
    bool has_findings_ = false, any_ = false, lacks_ = false;
};

} // namespace

bool ReportedRuns::add(const std::string& path, std::string_view text) {
    const bool lacks = ReportedReader(path, findings_, totals_).read(text);
    lacks_records_ = lacks_records_ || lacks;
    return lacks;
}

ReportedTotals ReportedRuns::totals() const {
    ReportedTotals totals = totals_;
    totals.findings = findings_.size();
    for (const ReportedFinding& finding : findings_)
        totals.saving_ns += finding.saving_ns;
    return totals;
}

} // namespace umadvisor::reports
