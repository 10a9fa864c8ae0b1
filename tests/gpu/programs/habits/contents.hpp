#pragma once
// What an array holds, as known without looking at it: every read of either side is held against this.
#include "trial.hpp"

#include <algorithm>
#include <cstdio>

namespace habits {

/// The used words of an array stand one in each cache line: every page is used, and 2 GiB are gone through
/// quickly.
inline constexpr std::size_t line = 64;
inline constexpr std::size_t line_words = line / sizeof(unsigned);
inline constexpr std::size_t page_cells = page / line;

/// Some of an array's cells, always whole pages of them.
struct Span {
    std::size_t first, cells;
};

/// Words that no kernel could compute: those of this program's own file.
class FileWords {
public:
    FileWords() {
        std::FILE* file = std::fopen("/proc/self/exe", "rb");
        const std::size_t got = file ? std::fread(words_.data(), sizeof(unsigned), words_.size(), file) : 0;
        if (file)
            std::fclose(file);
        if (got == 0)
            example::refuse("cannot read /proc/self/exe");
        words_.resize(got);
    }
    unsigned operator[](std::size_t i) const { return words_[i % words_.size()]; }

private:
    std::vector<unsigned> words_ = std::vector<unsigned>(1 << 16);
};

/// Where the first values come from: from a loop that computes them, or by pages out of a buffer.
enum class Source { counted, file };

/// Cell i holds its first value plus what was added to it since.
class Contents {
public:
    explicit Contents(unsigned seed) : seed_(seed) {}

    void start(Source source) {
        source_ = source;
        added_.clear();
        known_ = {0, 0};
    }
    void add(Span span) { added_.push_back(span); }

    unsigned first_value(std::size_t i) const {
        return source_ == Source::file ? words_[i] ^ seed_ : static_cast<unsigned>(i) * 2654435761u + seed_;
    }

    /// Sum of each cell's value times 2i+1, modulo 2^32: a value in the wrong cell shows too.
    unsigned digest(Span span) {
        unsigned sum = first_digest(span);
        for (const Span& added : added_) {
            // The odd numbers from 2a+1 to 2b-1 add up to b^2 - a^2.
            const std::size_t a = std::max(span.first, added.first);
            const std::size_t b = std::min(span.first + span.cells, added.first + added.cells);
            if (a < b)
                sum += static_cast<unsigned>(b * b - a * a);
        }
        return sum;
    }

private:
    unsigned first_digest(Span span) {
        if (span.first != known_.first || span.cells != known_.cells) {
            known_ = span;
            known_digest_ = 0;
            for (std::size_t i = span.first; i < span.first + span.cells; ++i)
                known_digest_ += first_value(i) * static_cast<unsigned>(2 * i + 1);
        }
        return known_digest_;
    }

    unsigned seed_;
    Source source_ = Source::counted;
    std::vector<Span> added_;
    FileWords words_;
    Span known_{0, 0}; ///< whose first digest is remembered: arrays are read again and again
    unsigned known_digest_ = 0;
};

} // namespace habits
