#include "analyzer/reports/html/timeline/row_bytes.hpp"

#include <cmath>

namespace umadvisor::html {

std::uint8_t of_255(double share) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * 255));
}

/// Whether the exact pieces of a row still fit: the page is to stay small.
bool RowBytes::afford(std::size_t pieces, std::size_t& left) {
    if (pieces > left)
        return false;
    left -= pieces;
    return true;
}

std::uint64_t RowBytes::put(const PieceRow& row) {
    const std::uint64_t offset = bytes_.size();
    if (row.exact() && afford(row.pieces().size(), row_pieces_left_)) {
        put_whole(row.pieces());
        return offset;
    }
    binned_.insert(&row);
    bytes_.byte(0);
    bytes_.number(row.states());
    bytes_.number(row.bins());
    for (std::size_t state = 0; state < row.states(); ++state)
        for (std::size_t bin = 0; bin < row.bins(); ++bin)
            bytes_.byte(of_255(row.share(state, bin)));
    return offset;
}

void RowBytes::put_whole(const std::vector<Piece>& pieces) {
    bytes_.byte(1);
    bytes_.number(pieces.size());
    std::uint64_t end = 0;
    for (const Piece& piece : pieces) {
        const std::uint64_t from = std::max(end, ticks(piece.begin));
        bytes_.number(from - end);
        end = std::max(from, ticks(piece.end));
    }
    end = 0;
    for (const Piece& piece : pieces) {
        const std::uint64_t from = std::max(end, ticks(piece.begin));
        end = std::max(from, ticks(piece.end));
        bytes_.number(end - from);
    }
    for (const Piece& piece : pieces)
        bytes_.byte(static_cast<std::uint8_t>(piece.state));
    for (const Piece& piece : pieces)
        bytes_.number(piece.name);
}

void RowBytes::put_whole(std::vector<LinkPiece> pieces) {
    std::ranges::sort(pieces, {}, &LinkPiece::begin);
    bytes_.byte(1);
    bytes_.number(pieces.size());
    std::uint64_t at = 0;
    for (const LinkPiece& piece : pieces) {
        bytes_.number(ticks(piece.begin) - at);
        at = ticks(piece.begin);
        bytes_.number(std::max<std::uint64_t>(1, ticks(piece.end) - at));
        bytes_.number(reader::saturated(piece.bytes));
    }
}

std::uint64_t RowBytes::put(const LinkRow& row) {
    const std::uint64_t offset = bytes_.size();
    if (row.exact) {
        put_whole(row.pieces);
    } else {
        bytes_.byte(0);
        bytes_.number(LinkRow::bins);
        for (const double bin : row.binned)
            bytes_.number(reader::saturated(bin));
    }
    return offset;
}

} // namespace umadvisor::html
