/// Maps that events change or ask all the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace umadvisor::reader {

/// By number or id, with the entries side by side in no order that means anything: a look-up takes two memory
/// accesses where a node-based map follows chains, and an entry takes no allocation. Entries move when others
/// come or go.
template <class Value, class Key = std::uint64_t>
class FlatMap {
public:
    using Entry = std::pair<Key, Value>;

    /// nullptr: it is not there.
    Value* find(Key key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
    const Value* find(Key key) const {
        const std::uint32_t position = places_[place_of(key)];
        return position == nowhere ? nullptr : &entries_[position - 1].second;
    }
    bool contains(Key key) const { return find(key) != nullptr; }
    /// Made if it is not there.
    Value& operator[](Key key) {
        std::size_t place = place_of(key);
        if (places_[place] == nowhere) {
            if (places_an_entry * entries_.size() >= places_.size()) {
                grow();
                place = place_of(key);
            }
            entries_.emplace_back(key, Value());
            places_[place] = static_cast<std::uint32_t>(entries_.size());
        }
        return entries_[places_[place] - 1].second;
    }
    void erase(Key key) {
        const std::size_t place = place_of(key);
        const std::uint32_t position = places_[place];
        if (position == nowhere)
            return;
        if (position != entries_.size()) { // the last takes its position
            places_[place_of(entries_.back().first)] = position;
            entries_[position - 1] = std::move(entries_.back());
        }
        entries_.pop_back();
        close_gap(place);
    }
    void clear() {
        entries_.clear();
        resize(least_bits);
    }

    std::size_t size() const { return entries_.size(); }
    bool empty() const { return entries_.empty(); }
    auto begin() { return entries_.begin(); }
    auto begin() const { return entries_.begin(); }
    auto end() { return entries_.end(); }
    auto end() const { return entries_.end(); }

private:
    static constexpr int least_bits = 4;
    static constexpr std::size_t places_an_entry = 4; ///< at least: look-ups seldom meet others
    static constexpr std::uint32_t nowhere = 0;

    std::size_t home_of(Key key) const {
        return static_cast<std::size_t>(std::hash<Key>()(key) * 0x9e3779b97f4a7c15 >>
                                        shift_); // numbers in a row fall far apart
    }
    /// The index in `places_` that holds the entry's position, or would hold it.
    std::size_t place_of(Key key) const {
        std::size_t place = home_of(key);
        while (places_[place] != nowhere && entries_[places_[place] - 1].first != key)
            place = after(place);
        return place;
    }
    std::size_t after(std::size_t place) const { return (place + 1) & (places_.size() - 1); }

    /// A look-up ends at the first free place: what the gap would part from its home moves into it.
    void close_gap(std::size_t gap) {
        for (std::size_t place = after(gap); places_[place] != nowhere; place = after(place)) {
            const std::size_t home = home_of(entries_[places_[place] - 1].first);
            const std::size_t mask = places_.size() - 1;
            if (((place - home) & mask) >= ((place - gap) & mask)) {
                places_[gap] = places_[place];
                gap = place;
            }
        }
        places_[gap] = nowhere;
    }
    void resize(int bits) {
        places_.assign(std::size_t{1} << bits, nowhere);
        shift_ = 64 - bits;
    }
    void grow() {
        resize(64 - shift_ + 1);
        for (std::size_t i = 0; i < entries_.size(); ++i)
            places_[place_of(entries_[i].first)] = static_cast<std::uint32_t>(i + 1);
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(1 << least_bits, nowhere); ///< from 1
    int shift_ = 64 - least_bits; ///< leaves of a number as many bits as places_ has places for
};

} // namespace umadvisor::reader
