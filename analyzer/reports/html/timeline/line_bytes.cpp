/// The rows of allocations: where their bytes are, moves, and launches that reach them.
#include "analyzer/reports/html/timeline/row_bytes.hpp"

#include <map>

namespace umadvisor::html {
namespace {

std::size_t part_index(const LineRow& line, std::uint32_t number) {
    const auto part = std::ranges::lower_bound(line.parts, number, {}, &AllocationPart::number);
    return static_cast<std::size_t>(part - line.parts.begin());
}

/// Of `coarse` bins from there on, by bytes; less where nothing lived for a part of it.
double place_share(const LineRow& line, std::size_t place, std::size_t first, std::size_t coarse) {
    double sum = 0, of_place = 0, alive = 0;
    for (std::size_t bin = first; bin < first + coarse; ++bin) {
        for (std::size_t other = 0; other < places; ++other)
            sum += line.binned_stays[other * LineRow::bins + bin];
        of_place += line.binned_stays[place * LineRow::bins + bin];
        alive += std::min(1.0f, line.binned_alive[bin]) / static_cast<double>(coarse);
    }
    return sum > 0 ? of_place / sum * alive : 0;
}

} // namespace

std::uint64_t RowBytes::put(const LineRow& line, std::size_t coarse) {
    const std::uint64_t offset = bytes_.size();
    const bool told = line.binned_stays.empty(),
               fits = line.stays_exact && afford(line.stays.size(), line_pieces_left_);
    if (told || fits)
        put_stays(line);
    else
        put_binned_stays(line, coarse);
    const bool moves_fit = line.moves_exact && afford(line.moves.size(), line_pieces_left_);
    if (line.binned_moves.empty() || moves_fit)
        put_moves(line);
    else
        put_binned_moves(line, coarse);
    const bool with_launches = afford(line.launches.size(), line_pieces_left_);
    put_launches(with_launches ? line.launches : Stretches());
    if (!(told || fits) || !(line.binned_moves.empty() || moves_fit) || !with_launches || !line.launches_exact)
        binned_.insert(&line);
    return offset;
}

void RowBytes::put_launches(const Stretches& launches) {
    bytes_.number(launches.size());
    std::uint64_t at = 0;
    for (const auto& [from, until] : launches) {
        const std::uint64_t now = std::max(at, ticks(from));
        bytes_.number(now - at);
        at = now;
        bytes_.number(ticks(until - from));
    }
}

void RowBytes::put_binned_stays(const LineRow& line, std::size_t coarse) {
    bytes_.byte(0);
    bytes_.number(LineRow::bins / coarse);
    for (std::size_t place = 0; place < places; ++place)
        for (std::size_t bin = 0; bin < LineRow::bins; bin += coarse)
            bytes_.byte(of_255(place_share(line, place, bin, coarse)));
}

template <class Piece>
void RowBytes::put_times(std::vector<Piece>& pieces, double Piece::*time) {
    std::ranges::stable_sort(pieces, {}, time);
    bytes_.number(pieces.size());
    std::uint64_t at = 0;
    for (const Piece& piece : pieces) {
        bytes_.number(ticks(piece.*time) - at);
        at = ticks(piece.*time);
    }
}

void RowBytes::put_stays(const LineRow& line) {
    bytes_.byte(1);
    bytes_.number(line.parts.size());
    for (const AllocationPart& part : line.parts) {
        bytes_.number(part.number);
        bytes_.number(ticks(part.begin));
        bytes_.number(ticks(part.end - part.begin));
        bytes_.number(part.bytes);
        bytes_.number(part.copied + part.moved_up + part.moved_down);
    }
    std::map<std::array<std::uint8_t, places>, std::uint64_t> kinds;
    for (const StayPiece& piece : line.stays)
        kinds.try_emplace(piece.shares, 0);
    bytes_.number(kinds.size());
    std::uint64_t number = 0;
    for (auto& [shares, index] : kinds) {
        index = number++;
        for (const std::uint8_t share : shares)
            bytes_.byte(share);
    }
    std::vector<StayPiece> pieces = line.stays;
    put_times(pieces, &StayPiece::begin);
    for (const StayPiece& piece : pieces)
        bytes_.number(ticks(piece.end - piece.begin));
    for (const StayPiece& piece : pieces)
        bytes_.number(kinds[piece.shares]);
    for (const StayPiece& piece : pieces)
        bytes_.number(part_index(line, piece.number));
}

void RowBytes::put_binned_moves(const LineRow& line, std::size_t coarse) {
    bytes_.byte(0);
    bytes_.number(LineRow::bins / coarse);
    constexpr std::size_t prefetches = static_cast<std::size_t>(MoveCause::prefetch) * LineRow::bins,
                          down = move_causes * LineRow::bins;
    for (std::size_t bin = 0; bin < down; bin += coarse) {
        double sum = 0;
        for (std::size_t i = bin; i < bin + coarse; ++i)
            sum += line.binned_moves[i] + (i >= prefetches && i < prefetches + LineRow::bins
                                               ? line.binned_moves[down + i - prefetches]
                                               : 0);
        bytes_.number(reader::saturated(sum));
    }
}

void RowBytes::put_moves(const LineRow& line) {
    bytes_.byte(1);
    std::vector<MoveMark> moves = line.moves;
    put_times(moves, &MoveMark::time);
    for (const MoveMark& move : moves)
        bytes_.number(move.bytes);
    for (const MoveMark& move : moves)
        bytes_.number(part_index(line, move.number));
    for (const MoveMark& move : moves)
        bytes_.byte(static_cast<std::uint8_t>(static_cast<unsigned>(move.cause) << 1 | (move.up ? 1u : 0u)));
}

void RowBytes::put_whole(const LineRow& line) {
    put_stays(line);
    put_moves(line);
    put_launches(line.launches);
}

} // namespace umadvisor::html
