#include "interposer/observe/host_content.hpp"

#include "interposer/observe/regular_content.hpp"
#include "interposer/record/checked_read.hpp"
#include "trace/checksum.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::observe {

namespace {

/// The part of [first, last) that belongs to the allocation, since a neighbour may share a page. With pages
/// larger than recorded ones it may be empty.
iovec clip(std::uint64_t first, std::uint64_t last, const Allocation& allocation) {
    first = std::max(first, allocation.address);
    last = std::min(last, allocation.address + allocation.bytes);
    return {reinterpret_cast<void*>(first), first < last ? last - first : 0};
}

std::uint64_t total(const iovec* parts, std::uint64_t count) {
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        bytes += parts[i].iov_len;
    return bytes;
}

} // namespace

/// Chooses the first mapped page, the last one and pages evenly between. Returns how many.
std::uint64_t HostContent::spread(const MappedRuns& runs, const Allocation& allocation, iovec* parts) noexcept {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0, before = runs.pages(); i < spread_pages; ++i) {
        const std::uint64_t n = i * (runs.pages() - 1) / (spread_pages - 1);
        if (n == before)
            continue;
        before = n;
        parts[count] = clip(runs.page(n), runs.page(n) + recorded_page, allocation);
        count += parts[count].iov_len != 0;
    }
    return count;
}

bool HostContent::read(const iovec* parts, std::uint64_t count, std::uint64_t bytes) noexcept {
    return bytes != 0 && record::read_checked(held_, parts, count);
}

HostContent::Seen HostContent::look(const MappedRuns& runs, const Allocation& allocation,
                                    bool closely) noexcept {
    if (runs.pages() == 0)
        return {};
    closely = closely && runs.single() && runs.pages() <= most_pages;
    iovec parts[spread_pages];
    std::uint64_t count = 1;
    if (closely)
        parts[0] = clip(runs.page(0), runs.page(0) + runs.pages() * recorded_page, allocation);
    else
        count = spread(runs, allocation, parts);
    const std::uint64_t bytes = total(parts, count);
    if (!read(parts, count, bytes))
        return {};
    return {std::max<std::uint64_t>(trace::checksum(held_, bytes), 1),
            closely ? compare(parts[0], allocation) : 0};
}

/// The line that has changed, plus 1, if exactly one whole page in `held_` has a single changed line; else 0.
std::uint64_t HostContent::compare(const iovec& whole, const Allocation& allocation) noexcept {
    const auto first = reinterpret_cast<std::uint64_t>(whole.iov_base), last = first + whole.iov_len;
    const std::uint64_t begin = first & ~(recorded_page - 1);
    LineHashes& known = last_[allocation.id % std::size(last_)];
    const bool again = known.allocation == allocation.id && known.first == first && known.last == last;
    known.allocation = allocation.id;
    known.first = first;
    known.last = last;
    std::uint64_t lone = 0, pages = 0;
    for (std::uint64_t page = begin; page < last; page += recorded_page) {
        std::uint64_t changed = 0, which = 0;
        for (std::uint64_t i = 0; i < page_lines; ++i) {
            const iovec part = clip(page + i * line, page + (i + 1) * line, allocation);
            const auto at = reinterpret_cast<std::uint64_t>(part.iov_base);
            const auto hash = static_cast<std::uint32_t>(
                part.iov_len == 0 ? 0 : trace::checksum(held_ + (at - first), part.iov_len) >> 32);
            std::uint32_t& before = known.lines[(page - begin) / line + i];
            if (before != hash) {
                ++changed;
                which = page + i * line;
            }
            before = hash;
        }
        if (changed != 1 || page < first || page + recorded_page > last)
            continue;
        ++pages;
        lone = (which - (allocation.address & ~(recorded_page - 1))) / line + 1;
    }
    return again && pages == 1 ? lone : 0;
}

trace::Regularity HostContent::regularity(const MappedRuns& runs, const Allocation& allocation) noexcept {
    if (runs.pages() == 0)
        return trace::Regularity::unknown;
    iovec parts[spread_pages];
    const std::uint64_t count = spread(runs, allocation, parts);
    if (!read(parts, count, total(parts, count)))
        return trace::Regularity::unknown;
    trace::Regularity all = trace::Regularity::unknown;
    const std::uint8_t* at = held_;
    for (std::uint64_t i = 0; i < count; at += parts[i++].iov_len) {
        const trace::Regularity one = observe::regularity(at, parts[i].iov_len);
        if (one == trace::Regularity::irregular)
            return one;
        all = std::max(all, one); // the last part may be too short to be judged
    }
    return all;
}

} // namespace umadvisor::observe
