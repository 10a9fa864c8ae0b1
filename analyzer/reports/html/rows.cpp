#include "analyzer/reports/html/rows.hpp"

namespace umadvisor::html {

void PieceRow::add_to_bins(const Piece& piece) {
    ns_[piece.state] += piece.end - piece.begin;
    for_bins(span_, bins_, piece.begin, piece.end,
             [&](std::size_t bin, double part) { share(piece.state, bin) += static_cast<float>(part); });
}

double PieceRow::binned_ns(std::size_t state) const {
    double sum = 0;
    for (std::size_t bin = 0; bin < bins_; ++bin)
        sum += share(state, bin);
    return sum * span_.length() / static_cast<double>(bins_);
}

void PieceRow::add(const Piece& piece) {
    if (piece.end <= piece.begin)
        return;
    add_to_bins(piece);
    if (!pieces_.empty()) { // what goes on is one
        Piece& last = pieces_.back();
        if (last.state == piece.state && last.name == piece.name && piece.name == 0 &&
            piece.begin - last.end < 1) {
            last.end = piece.end;
            return;
        }
    }
    if (++count_ <= most_)
        pieces_.push_back(piece);
    else if (!pieces_.empty())
        pieces_ = {};
}

void PieceRow::overlay(const States& from, std::uint32_t to, const Stretches& where) {
    if (exact()) {
        const std::vector<Piece> pieces = overlaid(std::move(pieces_), from, to, where);
        shares_.assign(shares_.size(), 0);
        ns_ = {};
        pieces_.clear();
        count_ = 0;
        for (const Piece& piece : pieces)
            add(piece);
        return;
    }
    std::vector<float> covered(bins_);
    for (const Stretch& each : where)
        for_bins(span_, bins_, each.first, each.second,
                 [&](std::size_t bin, double part) { covered[bin] += static_cast<float>(part); });
    for (const std::uint32_t state : from)
        for (std::size_t bin = 0; bin < bins_; ++bin) {
            const float taken = std::min(covered[bin], share(state, bin));
            share(state, bin) -= taken;
            share(to, bin) += taken;
            covered[bin] -= taken;
        }
}

std::vector<Piece> overlaid(std::vector<Piece> pieces, const States& from, std::uint32_t to,
                            const Stretches& where) {
    std::vector<Piece> result;
    std::size_t next = 0;
    for (const Piece& piece : pieces) {
        while (next < where.size() && where[next].second <= piece.begin)
            ++next;
        double at = piece.begin;
        const bool concerned = std::ranges::find(from, piece.state) != from.end();
        for (std::size_t i = next; concerned && i < where.size() && where[i].first < piece.end; ++i) {
            const double begin = std::max(at, where[i].first), end = std::min(piece.end, where[i].second);
            if (end <= begin)
                continue;
            result.push_back({at, begin, piece.state, piece.name});
            result.push_back({begin, end, to, piece.name});
            at = end;
        }
        result.push_back({at, piece.end, piece.state, piece.name});
    }
    std::erase_if(result, [](const Piece& piece) { return piece.end <= piece.begin; });
    return result;
}

Stretches tidy(Stretches list) {
    std::ranges::sort(list);
    Stretches result;
    for (const Stretch& each : list) {
        if (each.second <= each.first)
            continue;
        if (!result.empty() && each.first <= result.back().second)
            result.back().second = std::max(result.back().second, each.second);
        else
            result.push_back(each);
    }
    return result;
}

void LinkRow::add(const Span& span, double begin, double end, double more) {
    if (more <= 0)
        return;
    end = std::max(end, begin + 1);
    bytes += more;
    for_bins(span, bins, begin, end, [&](std::size_t bin, double part) {
        binned[bin] += more * part * span.length() / static_cast<double>(bins) / (end - begin);
    });
    if (!exact)
        return;
    pieces.push_back({begin, end, more});
    if (pieces.size() > most) {
        pieces = {};
        exact = false;
    }
}

} // namespace umadvisor::html
