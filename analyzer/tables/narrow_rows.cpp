#include "analyzer/tables/narrow_rows.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::tables {
namespace {

std::uint64_t rows_of(const trace::Copy& copy) {
    const std::uint64_t depth = std::max<std::uint64_t>(copy.depth, 1);
    return reader::saturated_product(copy.height, depth);
}

bool crosses_the_link(facts::Direction direction) {
    return direction == facts::Direction::HtoD || direction == facts::Direction::DtoH ||
           direction == facts::Direction::PtoP;
}

} // namespace

bool has_narrow_rows(const trace::Copy& copy) {
    return copy.width != 0 && copy.width < narrow_row_bytes && rows_of(copy) > 1 && copy.source_pitch != 0 &&
           copy.destination_pitch != 0 &&
           (copy.source_pitch != copy.width || copy.destination_pitch != copy.width);
}

void NarrowRows::add(const trace::Copy& copy) {
    if (copy.origin != trace::Origin::program || copy.status != 0 || !has_narrow_rows(copy))
        return;
    const facts::Direction direction = facts::direction_of(copy, dictionary_.symbol(copy.entry));
    if (!crosses_the_link(direction))
        return;
    const bool pageable =
        copy.source_memory == trace::Memory::pageable || copy.destination_memory == trace::Memory::pageable;
    NarrowRowsTotals& totals =
        sites_[{ids::CallSite::of(copy), direction, copy.asynchronous != 0 && !pageable}];
    const std::uint64_t rows = rows_of(copy);
    ++totals.copies;
    totals.rows += rows;
    totals.bytes += copy.bytes;
    totals.ticks += copy.duration;
    reader::add_saturated(totals.span_bytes,
                          reader::saturated_product(rows, std::max(copy.source_pitch, copy.destination_pitch)));
    totals.same_pitch &= copy.source_pitch == copy.destination_pitch;
    samples_.await(copy.sample, [&totals, rows](std::uint64_t ns) {
        totals.measured_rows += rows;
        totals.measured_ns += ns;
    });
}

} // namespace umadvisor::tables
