/// Rows of the page's timeline as numbers.
#pragma once

#include "analyzer/reader/saturated.hpp"
#include "analyzer/reports/html/timeline/packed_bytes.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <algorithm>
#include <set>

namespace umadvisor::html {

/// Puts rows into the page: their exact pieces as long as the page stays small, else their bins.
class RowBytes {
public:
    RowBytes(PackedBytes& bytes, const Span& span)
        : bytes_(bytes), unit_(std::max(1.0, span.length() / ticks_of_run)) {}

    double unit() const { return unit_; } ///< of the page's times, nanoseconds
    std::uint64_t ticks(double ns) const { return reader::saturated(ns / unit_ + 0.5); }

    /// Each of these returns where the row begins.
    std::uint64_t put(const PieceRow& row);
    std::uint64_t put(const LinkRow& row);
    /// `coarse`: so many of its bins are one in the page.
    std::uint64_t put(const LineRow& row, std::size_t coarse);
    /// Whether the page lacks the row's pieces.
    template <class Row>
    bool is_binned(const Row& row) const {
        return binned_.contains(&row);
    }

    void put_whole(const std::vector<Piece>& pieces);
    void put_whole(std::vector<LinkPiece> pieces);
    void put_whole(const LineRow& line);

private:
    static constexpr double ticks_of_run = 134217728; ///< 2^27

    static bool afford(std::size_t pieces, std::size_t& left);
    void put_launches(const Stretches& launches);
    /// Sorts them, and writes their number and the differences of their times.
    template <class Piece>
    void put_times(std::vector<Piece>& pieces, double Piece::*time);
    void put_stays(const LineRow& line);
    void put_binned_stays(const LineRow& line, std::size_t coarse);
    void put_moves(const LineRow& line);
    void put_binned_moves(const LineRow& line, std::size_t coarse);

    PackedBytes& bytes_;
    double unit_;
    std::size_t row_pieces_left_ = 250'000, line_pieces_left_ = 20'000;
    std::set<const void*> binned_;
};

/// A share as a byte.
std::uint8_t of_255(double share);

} // namespace umadvisor::html
