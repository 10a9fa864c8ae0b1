#include "analyzer/facts/least_ends.hpp"

#include <algorithm>

namespace umadvisor::facts {
namespace {

/// No link and no device memory of any machine moves more bytes in a second.
constexpr double fastest_link = 500e9, fastest_memory = 10e12;
/// Shorter work proves nothing.
constexpr double least_ns = 1000;
/// Clocks of host and device may differ by so much, and then some.
constexpr double sure_share = 0.9;

} // namespace

double LeastEnds::Work::end() const {
    // Backwards: work ends no earlier than it would if everything from any one piece on ran without a gap.
    double behind = 0, end = start;
    for (const Piece* piece = last.get(); piece != nullptr; piece = piece->before.get()) {
        behind += piece->least_ns;
        end = std::max(end, piece->start + behind);
    }
    return end;
}

LeastEnds::Work LeastEnds::add(const facts::Call& call, std::uint64_t bytes) {
    if (call.stream.number >= last_.size())
        last_.resize(std::size_t{call.stream.number} + 1);
    std::shared_ptr<Piece>& last = last_[call.stream.number];
    const double fastest = call.engine == facts::Engine::none ? fastest_memory : fastest_link;
    const double least = static_cast<double>(bytes) / fastest * 1e9;
    if (call.sample == 0 && least < least_ns)
        return {last, call.start};
    auto piece = std::make_shared<Piece>();
    piece->start = call.start;
    piece->least_ns = least;
    if (last != nullptr && last->depth + 1 < most_before) {
        piece->before = last;
        piece->depth = last->depth + 1;
    }
    samples_.await(call.sample, [piece](std::uint64_t ns) {
        piece->least_ns = std::max(piece->least_ns, static_cast<double>(ns) * sure_share);
    });
    last = std::move(piece);
    return {last, call.start};
}

} // namespace umadvisor::facts
