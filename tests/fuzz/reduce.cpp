#include "reduce.hpp"

#include <algorithm>

namespace umadvisor::fuzz {
namespace {

constexpr int most_attempts = 300;

class Reduction {
public:
    Reduction(TraceImage image, const std::function<bool(const Bytes&)>& fails)
        : image_(std::move(image)), fails_(fails) {}

    void leave_out_chunks() {
        for (std::size_t i = image_.chunks.size(); i-- > 0;) {
            TraceImage smaller = image_;
            smaller.chunks.erase(smaller.chunks.begin() + static_cast<std::ptrdiff_t>(i));
            take(std::move(smaller));
        }
    }
    /// Halves first, then quarters, down to single records.
    void leave_out_records(std::size_t chunk) {
        std::size_t records = 0;
        ImageChunk counted = image_.chunks[chunk];
        edit_records(counted, [&](const auto&, const auto&) { ++records; });
        for (std::size_t piece = (records + 1) / 2; piece > 0; piece = piece == 1 ? 0 : (piece + 1) / 2)
            for (std::size_t first = 0; first < records;) {
                TraceImage smaller = image_;
                std::size_t number = 0;
                edit_records(smaller.chunks[chunk], [&](const auto& record, const auto& append) {
                    if (number < first || number >= first + piece)
                        append(record);
                    ++number;
                });
                if (take(std::move(smaller)))
                    records -= std::min(piece, records - first);
                else
                    first += piece;
            }
    }
    const TraceImage& image() const { return image_; }

private:
    bool take(TraceImage smaller) {
        if (attempts_++ >= most_attempts || !fails_(smaller.bytes()))
            return false;
        image_ = std::move(smaller);
        return true;
    }

    TraceImage image_;
    const std::function<bool(const Bytes&)>& fails_;
    int attempts_ = 0;
};

} // namespace

Bytes reduced(const Bytes& input, const std::function<bool(const Bytes&)>& fails) {
    std::optional<TraceImage> image = image_of(input);
    if (!image || !fails(image->bytes()))
        return input;
    Reduction reduction(std::move(*image), fails);
    reduction.leave_out_chunks();
    for (std::size_t chunk = 0; chunk < reduction.image().chunks.size(); ++chunk)
        reduction.leave_out_records(chunk);
    return reduction.image().bytes();
}

} // namespace umadvisor::fuzz
