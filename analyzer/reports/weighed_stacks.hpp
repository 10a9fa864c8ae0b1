/// Stacks with their weights, as flame graphs and trees show them.
#pragma once

#include "analyzer/reports/weights.hpp"
#include "analyzer/symbols/symbolizer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::reports {

struct WeighedStack {
    std::vector<symbols::CodePlace>
        frames; ///< the outermost first; the CUDA call last, or what its time went into
    std::uint64_t weight = 0;
};

struct WeighedStacks {
    std::string program;
    Weight by{};
    std::vector<WeighedStack> stacks;
    std::size_t left_out = 0; ///< stacks that are one, "(other stacks)": those that weigh least of too many
    std::uint64_t sum() const;
};

/// The heaviest first. The program's own frames, or all of them with `full`. Throws reader::Error where the
/// trace has no such weights. Of more stacks than `most` those that weigh least are one. Time needs a timeline.
WeighedStacks weighed_stacks(const rules::Profile& profile, symbols::Symbolizer& symbolizer, Weight by,
                             bool full, std::size_t most = SIZE_MAX, const html::Timeline* timeline = nullptr);

/// The program's own frames of a stack, the innermost first, or all of them with `full`; never none where the
/// stack has any.
std::vector<symbols::CodePlace> shown_frames(symbols::Symbolizer& symbolizer, ids::StackId stack, bool full);

/// "upload (upload.cu:41)", "f (libf.so)", "libf.so+0x1234", "cudaMemcpy".
std::string frame_text(const symbols::CodePlace& frame);

/// "3.1 ms", "8 MiB" or "1200".
std::string weight_text(Weight by, std::uint64_t weight);

} // namespace umadvisor::reports
