#include "analyzer/html/rows.hpp"

namespace umadvisor::html {

void PieceRow::add(const Piece& piece) {
    if (piece.end <= piece.begin)
        return;
    if (!pieces_.empty()) { // what goes on is one
        Piece& last = pieces_.back();
        if (last.state == piece.state && last.name == piece.name && piece.name == 0 &&
            piece.begin - last.end < 1) {
            last.end = piece.end;
            for_bins(span_, bins_, piece.begin, piece.end, [&](std::size_t bin, double part) {
                share(piece.state, bin) += static_cast<float>(part);
            });
            ns_[piece.state] += piece.end - piece.begin;
            return;
        }
    }
    ns_[piece.state] += piece.end - piece.begin;
    for_bins(span_, bins_, piece.begin, piece.end,
             [&](std::size_t bin, double part) { share(piece.state, bin) += static_cast<float>(part); });
    if (++count_ <= most_)
        pieces_.push_back(piece);
    else
        pieces_ = {};
}

void PieceRow::replace(std::vector<Piece> pieces) {
    shares_.assign(shares_.size(), 0);
    ns_ = {};
    pieces_.clear();
    count_ = 0;
    for (const Piece& piece : pieces)
        add(piece);
}

} // namespace umadvisor::html
