/// Which managed memory is reached through pointers that the program has copied to the device.
#include "interposer/act/pointees.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_pointees)

using namespace umadvisor;
using namespace umadvisor::act;
using Addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t table = 0x6a00'0000'0000, arrays = table + 0x100'0000, each = 0x1'0000;

struct Memory {
    Pointees pointees;
    observe::Allocation holder = make(table, Pointees::most_bytes, trace::Memory::device);
    Memory() {
        for (std::uint64_t i = 0; i < 4; ++i)
            make(arrays + i * each, each, trace::Memory::managed);
    }
    ~Memory() {
        for (std::uint64_t i = 0; i < 4; ++i)
            erase_allocation(arrays + i * each);
        erase_allocation(table);
        pointees.forget(holder.id);
    }
    static observe::Allocation make(std::uint64_t address, std::uint64_t bytes, trace::Memory memory) {
        const observe::Allocation made = made_allocation(address, bytes, memory);
        observe::allocations().insert(made);
        return made;
    }
    bool copy(const Addresses& words, std::uint64_t offset = 0) {
        return pointees.copied(holder, table + offset, reinterpret_cast<std::uint64_t>(words.data()),
                               words.size() * sizeof(std::uint64_t));
    }
    Addresses list() const {
        observe::Touched out;
        pointees.list(holder.id, 0, out);
        Addresses found;
        for (std::uint32_t i = 0; i < out.managed_count; ++i)
            found.push_back(out.managed[i].address);
        return found;
    }
    void check(const Addresses& expected) const {
        BOOST_TEST(list() == expected, boost::test_tools::per_element());
    }
};

constexpr std::uint64_t first = arrays, second = arrays + each, third = arrays + 2 * each;

BOOST_FIXTURE_TEST_CASE(addresses_among_what_is_copied_are_found, Memory) {
    BOOST_TEST(copy({1, second + 100, 0, first, table, second, 42}));
    check({first, second});
}

BOOST_FIXTURE_TEST_CASE(a_copy_from_the_start_counts_alone_and_one_to_the_middle_beside, Memory) {
    BOOST_TEST(copy({first}));
    BOOST_TEST(copy({second, third}, 8));
    check({first, second, third});
    BOOST_TEST(copy({7}, 64)); // says nothing of the others
    check({first, second, third});
    BOOST_TEST(copy({third}));
    check({third});
    BOOST_TEST(!copy({0}));
    check({});
}

BOOST_FIXTURE_TEST_CASE(addresses_stand_at_multiples_of_8, Memory) {
    BOOST_TEST(!copy({first}, 4)); // its second half, and what comes after it
    BOOST_TEST(copy({first << 32, second << 32 | first >> 32, second >> 32}, 4));
    check({first, second});
}

BOOST_FIXTURE_TEST_CASE(what_is_gone_is_not_listed, Memory) {
    BOOST_TEST(copy({first, second}));
    erase_allocation(first);
    check({second});
    pointees.forget(holder.id);
    check({});
}

BOOST_FIXTURE_TEST_CASE(what_never_held_an_address_is_data, Memory) {
    for (int i = 0; i < 4; ++i)
        BOOST_TEST(!copy({1, 2, 3}));
    BOOST_TEST(!copy({first}));
}

BOOST_FIXTURE_TEST_CASE(data_does_not_take_the_place_of_addresses, Memory) {
    BOOST_TEST(copy({first, second}));
    for (int i = 0; i < 300; ++i) {
        const std::uint64_t data[]{1, 2};
        const observe::Allocation other =
            made_allocation(table + 0x10'0000, 16, trace::Memory::device, holder.id + 1 + i);
        BOOST_TEST(!pointees.copied(other, other.address, reinterpret_cast<std::uint64_t>(data), sizeof data));
    }
    check({first, second});
}

BOOST_FIXTURE_TEST_CASE(large_memory_is_data, Memory) {
    holder.bytes = Pointees::most_bytes + 1;
    BOOST_TEST(!copy({first}));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_read_holds_nothing, Memory) {
    BOOST_TEST(!pointees.copied(holder, table, 4096, 64));
}

/// Reading write-combined memory holds the program up, and registers of a device change by it.
BOOST_FIXTURE_TEST_CASE(memory_that_is_not_plain_to_read_is_not_read, Memory) {
    const Addresses words{first, second};
    const auto source = reinterpret_cast<std::uint64_t>(words.data());
    observe::Allocation host = made_allocation(source, 16, trace::Memory::pinned);
    for (const bool readable : {false, true}) {
        host.readable = readable;
        observe::allocations().insert(host);
        BOOST_TEST(copy(words) == readable);
        erase_allocation(source);
    }
    host.bytes = 8; // the copy reaches beyond it
    observe::allocations().insert(host);
    BOOST_TEST(!copy(words));
    erase_allocation(source);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Opening the pagemap costs as much as reading a small table.
BOOST_FIXTURE_TEST_CASE(no_file_is_opened_for_memory_that_is_too_large_to_read, Memory) {
    const auto ends_well = [&](std::uint64_t bytes) {
        const pid_t child = fork();
        if (child == 0) {
            sock_filter no_open[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
            const sock_fprog program{std::size(no_open), no_open};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                _exit(2);
            pointees.read(made_allocation(table, bytes, trace::Memory::managed, holder.id + 1));
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        BOOST_TEST((!WIFEXITED(status) || WEXITSTATUS(status) != 2)); // else the filter could not be set
        return WIFEXITED(status);
    };
    BOOST_TEST(ends_well(Pointees::most_bytes + 1));
    BOOST_TEST(!ends_well(4096)); // or this test would see nothing
}
#endif

BOOST_AUTO_TEST_SUITE_END()
