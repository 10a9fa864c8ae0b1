#pragma once
// UMA-106 to 108 and 303: what the bytes are that go to the device, and what becomes of them.
#include "trial.hpp"

#include <algorithm>

namespace rules {

/// Of a buffer, one that a look at some of its bytes passes over.
inline std::size_t hidden_word(std::size_t count) {
    return count / 2 + count / 16;
}

/// Pinned words that differ, and device memory of the same size.
struct Pair {
    explicit Pair(std::size_t bytes) : host(bytes), data(bytes) {
        for (std::size_t i = 0; i < host.count; ++i)
            host.words[i] = static_cast<unsigned>(i);
    }
    void upload() const { upload(host); }
    void upload(const PinnedWords& from) const {
        CHECK(cudaMemcpy(data.words, from.words, data.count * sizeof(unsigned), cudaMemcpyHostToDevice));
    }
    void download() const {
        CHECK(cudaMemcpy(host.words, data.words, data.count * sizeof(unsigned), cudaMemcpyDeviceToHost));
    }
    PinnedWords host;
    DeviceWords data;
};

enum class Table { uploaded_each_round, uploaded_once, changed, written_by_kernel };

/// A table that the first round and the last kernel read, and other work in every round.
template <Table How>
void look_up(Trial& trial) {
    const Pair table(trial.bytes), work(trial.bytes);
    work.upload();
    trial.timed_rounds([&](unsigned round) {
        if (How == Table::changed)
            table.host.words[hidden_word(table.host.count)] = round;
        if (How != Table::uploaded_once || round == 0)
            table.upload();
        if (How == Table::written_by_kernel || round == 0)
            LAUNCH(add_one, grid, block, nullptr, table.data.words, table.data.count);
        LAUNCH(add_one, grid, block, nullptr, work.data.words, work.data.count);
    });
    LAUNCH(accumulate, grid, block, nullptr, work.data.words, table.data.words, table.data.count);
    work.download();
    const unsigned in_table = How == Table::written_by_kernel || How == Table::uploaded_once ? 1 : 0;
    trial.expect(work.host.words[2] == 2 + trial.rounds + 2 + in_table);
}

enum class Trip { unchanged, download_only, changed };

/// Each round the host looks at what the device has made.
template <Trip How>
void take_turns(Trial& trial) {
    const Pair pair(trial.bytes);
    pair.upload();
    trial.timed_rounds([&](unsigned) {
        LAUNCH(add_one, grid, block, nullptr, pair.data.words, pair.data.count);
        pair.download();
        if (How == Trip::changed)
            pair.host.words[hidden_word(pair.host.count)] += 1;
        if (How != Trip::download_only)
            pair.upload();
    });
    pair.download();
    trial.expect(pair.host.words[2] == 2 + trial.rounds);
}

enum class Start { uploaded, memory_set, nearly };

/// Each round begins with memory that holds one value.
template <Start How>
void begin_anew(Trial& trial) {
    const Pair pair(trial.bytes);
    std::fill_n(pair.host.words, pair.host.count, 0u);
    if (How == Start::nearly)
        pair.host.words[hidden_word(pair.host.count)] = 1;
    trial.timed_rounds([&](unsigned) {
        if (How == Start::memory_set)
            CHECK(cudaMemset(pair.data.words, 0, trial.bytes));
        else
            pair.upload();
        LAUNCH(add_one, grid, block, nullptr, pair.data.words, pair.data.count);
    });
    pair.download();
    trial.expect(pair.host.words[2] == 1);
}

enum class Draft { overwritten, left_out, used };

/// Each round a draft is sent before what counts.
template <Draft How>
void send_drafts(Trial& trial) {
    const Pair pair(trial.bytes), total(trial.bytes);
    PinnedWords draft(trial.bytes);
    std::fill_n(draft.words, draft.count, 7u);
    draft.words[0] = 0;
    CHECK(cudaMemset(total.data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        if (How != Draft::left_out)
            pair.upload(draft);
        if (How == Draft::used)
            LAUNCH(accumulate, grid, block, nullptr, total.data.words, pair.data.words, pair.data.count);
        pair.upload();
        LAUNCH(accumulate, grid, block, nullptr, total.data.words, pair.data.words, pair.data.count);
    });
    total.download();
    trial.expect(total.host.words[2] == trial.rounds * (How == Draft::used ? 9 : 2));
}

/// The same with memory sets.
template <Draft How>
void set_twice(Trial& trial) {
    const Pair pair(trial.bytes);
    trial.timed_rounds([&](unsigned) {
        if (How == Draft::overwritten)
            CHECK(cudaMemset(pair.data.words, 0, trial.bytes));
        CHECK(cudaMemset(pair.data.words, 1, trial.bytes));
        LAUNCH(add_one, grid, block, nullptr, pair.data.words, pair.data.count);
    });
    pair.download();
    trial.expect(pair.host.words[2] == 0x01010102u);
}

} // namespace rules
