/// What a row of the page's timeline holds: pieces of time in exact order as long as there are few of them, and
/// the run in even bins in any case.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace umadvisor::html {

/// The run, nanoseconds since the trace began.
struct Span {
    double begin = 0, end = 1;
    double length() const { return end - begin; }
};

using States = std::vector<std::uint32_t>;
using Stretch = std::pair<double, double>;
using Stretches = std::vector<Stretch>; ///< in order, apart
Stretches tidy(Stretches list);

struct Piece {
    double begin = 0, end = 0;
    std::uint32_t state = 0; ///< what it is; the row says of what list
    std::uint32_t name = 0;  ///< 0: none
};

/// Pieces in the order of time that do not overlap. Memory: `most` pieces, and the bins.
class PieceRow {
public:
    PieceRow(const Span& span, std::size_t states, std::size_t bins, std::size_t most)
        : span_(span), states_(states), bins_(bins), most_(most), shares_(states * bins) {}

    void add(const Piece& piece);
    bool exact() const { return count_ <= most_; }
    std::uint64_t count() const { return count_; }
    const std::vector<Piece>& pieces() const { return pieces_; } ///< empty where there are too many
    std::size_t states() const { return states_; }
    std::size_t bins() const { return bins_; }
    /// A state's share of a bin, from 0 to 1.
    float share(std::size_t state, std::size_t bin) const { return shares_[state * bins_ + bin]; }
    float& share(std::size_t state, std::size_t bin) { return shares_[state * bins_ + bin]; }
    double binned_ns(std::size_t state) const;                ///< of all bins, as overlay() left them
    double ns(std::size_t state) const { return ns_[state]; } ///< in all; of the first eight states
    /// Changes the state of what lies in `where`, where it is one of `from`.
    void overlay(const States& from, std::uint32_t to, const Stretches& where);

private:
    Span span_;
    std::size_t states_, bins_, most_;
    std::uint64_t count_ = 0;
    std::vector<Piece> pieces_;
    std::vector<float> shares_;
    std::array<double, 8> ns_{};
    void add_to_bins(const Piece& piece);
};

/// The same of pieces alone.
std::vector<Piece> overlaid(std::vector<Piece> pieces, const States& from, std::uint32_t to,
                            const Stretches& where);

struct LinkPiece {
    double begin = 0, end = 0, bytes = 0;
};

/// One way of a link.
struct LinkRow {
    static constexpr std::size_t bins = 8192, most = 12'000;
    std::vector<LinkPiece> pieces; ///< empty where there are too many
    bool exact = true;
    std::vector<double> binned = std::vector<double>(bins); ///< bytes
    double bytes = 0;
    void add(const Span& span, double begin, double end, double more);
};

/// Adds to each bin of the span that [begin, end) meets what part of the bin it covers.
template <class Add>
void for_bins(const Span& span, std::size_t bins, double begin, double end, const Add& add) {
    const double scale = static_cast<double>(bins) / span.length();
    const double from = std::max(0.0, (begin - span.begin) * scale);
    const double until = std::min(static_cast<double>(bins), (end - span.begin) * scale);
    if (const auto bin = static_cast<std::size_t>(from); until <= static_cast<double>(bin + 1) && from < until)
        return add(bin, until - from);
    for (auto bin = static_cast<std::size_t>(from); static_cast<double>(bin) < until; ++bin) {
        const double low = std::max(from, static_cast<double>(bin));
        const double high = std::min(until, static_cast<double>(bin + 1));
        add(bin, high - low);
    }
}

} // namespace umadvisor::html
