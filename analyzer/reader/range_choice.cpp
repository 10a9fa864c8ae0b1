#include "analyzer/reader/range_choice.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/shown_name.hpp"

#include <algorithm>
#include <array>
#include <fnmatch.h>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace umadvisor::reader {
namespace {

constexpr std::size_t most_listed = 24, longest_listed = 80;
constexpr std::size_t most_known = 4096; ///< different ranges that an error chooses from

bool matches(const std::string& glob, std::string_view text) {
    return ::fnmatch(glob.c_str(), std::string(text).c_str(), 0) == 0;
}

struct Names {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> counts; ///< by domain and text
    bool more = false;

    void add(const trace::Range& range) {
        const auto found = counts.find({range.domain, range.text});
        if (found != counts.end())
            ++found->second;
        else if (counts.size() != most_known)
            counts.try_emplace({range.domain, range.text}, 1);
        else
            more = true;
    }
};

/// Those that occur most often first.
std::string list(const Names& names, const Dictionary& dictionary) {
    std::vector<std::pair<std::uint64_t, std::string>> texts;
    for (const auto& [key, count] : names.counts) {
        const std::string_view domain = dictionary.string(key.first);
        texts.emplace_back(
            count, shown_name(dictionary.string(key.second), longest_listed) +
                       (domain.empty() ? "" : fmt::format(" (domain {})", shown_name(domain, longest_listed))));
    }
    std::ranges::stable_sort(texts, std::ranges::greater{}, &std::pair<std::uint64_t, std::string>::first);
    std::string text;
    for (std::size_t i = 0; i < std::min(texts.size(), most_listed); ++i)
        text += (i == 0 ? "" : ", ") + texts[i].second;
    if (names.more)
        text += " and many more";
    else if (texts.size() > most_listed)
        text += fmt::format(" and {} more", texts.size() - most_listed);
    return text;
}

} // namespace

bool is_library_domain(std::string_view domain) {
    constexpr std::array libraries{"NCCL*",    "CCCL*",     "cub",      "cub::*",    "thrust",    "thrust::*",
                                   "cu[A-Z]*", "cublas*",   "cudnn*",   "cusolver*", "cusparse*", "cufft*",
                                   "curand*",  "cutensor*", "nv[A-Z]*", "NVSHMEM*",  "TensorRT*", "libcudf*",
                                   "UCX*",     "NPP*",      "CUDA*"};
    return std::ranges::any_of(libraries, [domain](const char* glob) { return matches(glob, domain); });
}

RangeChoice::RangeChoice(TraceFile& file, const Dictionary& dictionary, const RangeQuery& query)
    : query_(query) {
    // Number 0 has no String: a range without a name, and the default domain.
    const auto domain_fits = [&](std::string_view domain) {
        return query.domain.empty() ? !is_library_domain(domain) : matches(query.domain, domain);
    };
    if (matches(query.name, ""))
        texts_.insert(0);
    if (domain_fits(""))
        domains_.insert(0);
    for (const auto& [id, string] : dictionary.strings) {
        if (matches(query.name, string.text))
            texts_.insert(id);
        if (domain_fits(string.text))
            domains_.insert(id);
    }
    const Completeness before = file.completeness(); // the events are read again: losses count once
    Names names;
    bool found = false;
    EventStream events(file);
    while (const ThreadCursor* const cursor = found ? nullptr : events.next())
        if (const auto* const range = std::get_if<trace::Range>(&cursor->event());
            range != nullptr &&
            (range->action == trace::RangeAction::push || range->action == trace::RangeAction::start)) {
            names.add(*range);
            found = has(range->text, range->domain);
        }
    file.completeness() = before;
    if (found)
        return;
    const std::string asked = query.name + (query.domain.empty() ? "" : " in a domain called " + query.domain);
    throw Error(names.counts.empty()
                    ? file.path() + ": has no ranges; umadvisor run records those that a program names by NVTX"
                    : fmt::format("{}: no range is called {}; there are: {}", file.path(), asked,
                                  list(names, dictionary)));
}

} // namespace umadvisor::reader
