#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"
#include "interposer/base/text.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::record {
namespace {

class StringTable {
public:
    constexpr StringTable() noexcept = default;

    /// 0 without memory, or if the table is full.
    std::uint64_t id(std::string_view text) noexcept {
        const std::uint64_t hash = base::hash(text);
        if (const Slot* const known = table_.find(hash, [&](const Slot& slot) {
                return slot.text_hash == hash && slot.text == text && !slot.free();
            }))
            return known->id;
        if (table_.used() == most(Bound::texts)) {
            reached(Bound::texts);
            return 0;
        }
        bool good = false;
        const std::string_view kept = arena_.keep(text, good);
        Slot* const slot = good ? table_.add(hash) : nullptr;
        if (slot == nullptr) {
            sink.drop(trace::DropReason::no_memory);
            return 0;
        }
        *slot = {hash, kept, table_.used()};
        trace::String record;
        record.id = slot->id;
        record.text = kept;
        define(record);
        return slot->id;
    }

private:
    struct Slot {
        std::uint64_t text_hash;
        std::string_view text;
        std::uint64_t id; ///< 0: free

        bool free() const noexcept { return id == 0; }
        std::uint64_t hash() const noexcept { return text_hash; }
    };

    base::Table<Slot, base::Searched::under_the_lock> table_;
    base::Arena arena_;
};

constinit Mutex strings_mutex{Lock::texts};
constinit StringTable strings;

} // namespace

std::uint64_t string_id(std::string_view text) noexcept {
    if (!recording())
        return 0;
    const Quiet quiet;
    const Guard guard(strings_mutex);
    return strings.id(base::first(text, trace::max_text));
}

} // namespace umadvisor::record
