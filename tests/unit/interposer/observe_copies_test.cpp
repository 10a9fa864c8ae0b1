/// What is looked at in a copy.
#include "observed_copies.hpp"

BOOST_FIXTURE_TEST_SUITE(observe_copies, umadvisor::observe::Copies)

using namespace umadvisor;
using namespace umadvisor::observe;

BOOST_AUTO_TEST_CASE(a_part_at_first_and_all_of_the_third_equal_one) {
    const trace::CopyContent first = upload(), second = upload(), third = upload(), fourth = upload();
    BOOST_TEST(first.part_hash != 0u);
    BOOST_TEST(first.whole_hash == 0u);
    BOOST_TEST(second.part_hash == first.part_hash);
    BOOST_TEST(second.whole_hash == 0u);
    BOOST_TEST(third.whole_hash != 0u);
    BOOST_TEST(fourth.whole_hash == third.whole_hash);
    BOOST_TEST(fourth.value_bytes == 0u);
    host[bytes / 2 + page] ^= 1; // in no part
    const trace::CopyContent changed = upload();
    BOOST_TEST(changed.part_hash == first.part_hash);
    BOOST_TEST(changed.whole_hash != fourth.whole_hash);
    host[0] ^= 1;
    BOOST_TEST(upload().part_hash != first.part_hash);
}

BOOST_AUTO_TEST_CASE(other_places_are_compared_in_each_copy_of_the_same_part) {
    BOOST_TEST(upload().places == 0u); // there is nothing to compare it with
    for (int i = 0; i < 30; ++i) {
        const trace::CopyContent content = upload();
        BOOST_TEST(content.places == 4u);
        BOOST_TEST(content.places_differ == 0u);
    }
    std::memset(host + bytes / 2 + page, 0, bytes / 64); // in no part
    std::uint64_t differed = 0;
    for (int i = 0; i < 30; ++i) {
        std::memset(host + bytes / 2 + page, i, bytes / 64);
        differed += upload().places_differ;
    }
    BOOST_TEST(differed >= 1u);
    BOOST_TEST(differed <= 8u);
    host[0] ^= 1;
    BOOST_TEST(upload().places == 0u);
    BOOST_TEST(upload(Memory::pageable, bytes / 4).places == 0u); // too small
    BOOST_TEST(upload(Memory::pageable, bytes / 4).places == 0u);
}

BOOST_AUTO_TEST_CASE(places_are_compared_with_what_came_down_and_with_other_addresses) {
    const trace::CopyContent down = download(1, Memory::pageable, false).content, up = upload();
    BOOST_TEST(down.part_hash == up.part_hash);
    BOOST_TEST(up.places == 4u);
    std::memcpy(host + bytes, host, bytes);
    trace::Copy copy{.source = address() + bytes,
                     .destination = on_device + bytes,
                     .bytes = bytes,
                     .source_memory = Memory::pageable,
                     .destination_memory = Memory::array};
    contents->after_copy(copy, bytes);
    BOOST_TEST(copy.content.places == 4u);
    BOOST_TEST(copy.content.places_differ == 0u);
    trace::Copy rows = copy;
    rows.content = {};
    contents->after_copy(rows, bytes + 1); // there are gaps between its rows
    BOOST_TEST(rows.content.part_hash == 0u);
    std::memset(host, 0, mapped);
    std::memset(host + bytes + page, 1, bytes / 2); // one value in all parts, which says little of the rest
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(upload().places_differ == 0u);
        contents->after_copy(copy, bytes);
        BOOST_TEST(copy.content.places_differ == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_whole_is_hashed_only_where_there_is_time_for_another) {
    contents->set_allowance(bytes); // for three wholes, at 4 GB/s
    std::vector<std::uint64_t> hashed;
    for (std::uint64_t round = 0; round < 4; ++round)
        for (std::uint64_t buffer = 1; buffer <= 3; ++buffer) {
            trace::Copy copy{.source = address(),
                             .destination = on_device + buffer * bytes,
                             .bytes = bytes,
                             .source_memory = Memory::pageable,
                             .destination_memory = Memory::device};
            host[0] = static_cast<std::uint8_t>(buffer);
            contents->after_copy(copy, bytes);
            if (copy.content.whole_hash != 0)
                hashed.push_back(10 * round + buffer);
        }
    BOOST_REQUIRE(hashed.size() >= 2u);
    BOOST_TEST(hashed[0] == 21u);
    BOOST_TEST(hashed[1] == 31u); // not that of another buffer
}

BOOST_AUTO_TEST_CASE(of_a_batch_uploads_are_looked_at_and_downloads_are_not) {
    trace::Copy up{.source = address(),
                   .destination = on_device,
                   .bytes = bytes,
                   .source_memory = Memory::pageable,
                   .destination_memory = Memory::device};
    trace::Copy down{.source = on_device,
                     .destination = address(),
                     .bytes = bytes,
                     .source_memory = Memory::device,
                     .destination_memory = Memory::pageable};
    contents->after_part(up, bytes);
    contents->after_part(down, bytes);
    BOOST_TEST(up.content.part_hash != 0u);
    BOOST_TEST(up.content.part_hash == upload().part_hash);
    BOOST_TEST(down.content.part_hash == 0u);
}

BOOST_AUTO_TEST_CASE(pinned_memory_reads_as_pageable_memory_does) {
    for (int i = 0; i < 3; ++i)
        upload();
    const trace::CopyContent pageable = upload();
    allocate(Memory::pinned, true);
    const trace::CopyContent pinned = upload(Memory::pinned);
    BOOST_TEST(pinned.part_hash == pageable.part_hash);
    BOOST_TEST(pinned.whole_hash == pageable.whole_hash);
}

BOOST_AUTO_TEST_CASE(little_is_looked_at_as_a_whole) {
    const trace::CopyContent content = upload(Memory::pageable, 100);
    BOOST_TEST(content.whole_hash != 0u);
    BOOST_TEST(content.part_hash == content.whole_hash);
    BOOST_TEST(upload(Memory::pageable, 99).whole_hash != content.whole_hash);
}

BOOST_AUTO_TEST_CASE(one_value_is_told_by_its_shortest_length) {
    const auto value_of = [&](std::uint32_t word, std::size_t length) {
        for (std::size_t i = 0; i < bytes; i += 4)
            std::memcpy(host + i, &word, 4);
        const trace::CopyContent content = upload(Memory::pageable, length);
        return std::pair(content.value_bytes, content.value);
    };
    using Told = std::pair<std::uint64_t, std::uint64_t>;
    BOOST_TEST((value_of(0, bytes) == Told(1, 0)));
    BOOST_TEST((value_of(0x07070707, bytes) == Told(1, 7)));
    BOOST_TEST((value_of(0x01020102, bytes) == Told(2, 0x0102)));
    BOOST_TEST((value_of(0x3f800000, bytes) == Told(4, 0x3f800000)));
    BOOST_TEST((value_of(0x3f800000, bytes - 3) == Told(4, 0x3f800000)));
    BOOST_TEST((value_of(7, 4) == Told(0, 0))); // nothing is repeated
    value_of(0, bytes);
    host[bytes - 70'000] = 1;
    BOOST_TEST(upload().value_bytes == 1u); // a part alone cannot know
    BOOST_TEST(upload().value_bytes == 0u); // the third that is equal in part: all of it
}

BOOST_AUTO_TEST_CASE(one_value_in_many_places_of_a_large_copy) {
    constexpr std::size_t large = 32 * bytes;
    std::memset(host, 0, mapped);
    const trace::CopyContent zeros = upload(Memory::pageable, large);
    BOOST_TEST(zeros.value_bytes == 1u);
    BOOST_TEST(zeros.places == 64u);
    BOOST_TEST(zeros.places_differ == 0u);
    std::memset(host + large / 2 + page, 1, large / 16); // in no part
    contents->set_allowance(1'000'000'000'000);
    trace::Copy other{.source = address() + 8,
                      .destination = on_device,
                      .bytes = large,
                      .source_memory = Memory::pageable,
                      .destination_memory = Memory::device};
    contents->before_copy(other, large);
    contents->after_copy(other, large);
    BOOST_TEST(other.content.part_hash == zeros.part_hash);
    BOOST_TEST(other.content.value_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_or_is_not_to_be) {
    BOOST_REQUIRE(mprotect(host, page, PROT_NONE) == 0);
    BOOST_TEST(upload().part_hash == 0u);
    BOOST_REQUIRE(mprotect(host, page, PROT_READ | PROT_WRITE) == 0);
    allocate(Memory::managed, false, bytes / 2); // its second half
    BOOST_TEST(upload().part_hash == 0u);
    allocate(Memory::pinned, false); // write-combined
    BOOST_TEST(upload(Memory::pinned).part_hash == 0u);
    allocate(Memory::pinned, true);
    BOOST_TEST(upload(Memory::pinned).part_hash != 0u);
    BOOST_TEST(upload(Memory::pinned, bytes + 1).part_hash == 0u); // beyond its end
    BOOST_TEST(upload(Memory::managed).part_hash == 0u);
    BOOST_REQUIRE(mprotect(host, page, PROT_NONE) == 0); // the device reads pinned memory all the same
    BOOST_TEST(upload(Memory::pinned).part_hash == 0u);
    BOOST_REQUIRE(mprotect(host, page, PROT_READ | PROT_WRITE) == 0);
}

BOOST_AUTO_TEST_CASE(a_page_that_goes_before_the_whole_is_read) {
    for (int i = 0; i < 2; ++i)
        upload();
    BOOST_REQUIRE(mprotect(host + bytes / 2 + page, page, PROT_NONE) == 0);
    const trace::CopyContent content = upload();
    BOOST_TEST(content.part_hash != 0u);
    BOOST_TEST(content.whole_hash == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_program_has_not_touched_is_touched_by_its_copy_first) {
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(upload_untouched(true).value_bytes == 1u); // zeros
    const trace::CopyContent zeros = upload_untouched(true);
    BOOST_TEST(zeros.whole_hash != 0u);
    BOOST_TEST(zeros.value_bytes == 1u);
    BOOST_TEST(zeros.value == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_device_has_yet_to_read_by_the_hosts_page_tables_is_not_looked_at) {
    look_for_pageable_memory(); // for the rest of the process
    BOOST_TEST(upload_untouched(false).part_hash == 0u);
    BOOST_TEST(upload_untouched(true).part_hash != 0u);
    BOOST_TEST(upload().part_hash != 0u);
}

BOOST_AUTO_TEST_CASE(levels) {
    hash("full");
    BOOST_TEST(upload().whole_hash != 0u);
    hash("off");
    BOOST_TEST(upload().part_hash == 0u);
}

BOOST_AUTO_TEST_CASE(without_time_left_nothing_is_looked_at) {
    contents->set_allowance(0);
    BOOST_TEST(upload().part_hash == 0u);
    pass_time(1'000'000); // of which 1% is more than a look takes, and an eighth of it is for parts
    BOOST_TEST(upload().part_hash != 0u);
    BOOST_TEST(upload().part_hash == 0u);
}

BOOST_AUTO_TEST_CASE(without_much_time_left_parts_alone_are_looked_at) {
    hash("full");
    contents->set_allowance(1000);
    madvise(host, mapped, MADV_POPULATE_READ);
    const trace::CopyContent content = upload(Memory::pageable, mapped); // would take 16 ms
    BOOST_TEST(content.part_hash != 0u);
    BOOST_TEST(content.whole_hash == 0u);
}

BOOST_AUTO_TEST_CASE(downloads_that_are_done_when_the_call_returns) {
    BOOST_TEST(download(1, Memory::pageable, true).content.part_hash != 0u);
    allocate(Memory::pinned, true);
    const trace::Copy record = download(2, Memory::pinned, false);
    BOOST_TEST(record.content.part_hash != 0u);
    BOOST_TEST(record.content_follows == 0u);
}

BOOST_AUTO_TEST_CASE(an_asynchronous_download_is_told_when_it_was_waited_for) {
    allocate(Memory::pinned, true);
    const trace::Copy record = download(17);
    BOOST_TEST(record.content_follows == 1u);
    BOOST_TEST(record.content.part_hash == 0u);
    BOOST_TEST(told_after(trace::SyncKind::stream, stream + 1) == 0u);
    BOOST_TEST(told_after(trace::SyncKind::stream, stream) == 1u);
    BOOST_TEST(recorder().contents.front().copy == 17u);
    BOOST_TEST(recorder().contents.front().content.part_hash == upload(Memory::pinned).part_hash);
    BOOST_TEST(told_after(trace::SyncKind::context) == 1u); // once
}

BOOST_AUTO_TEST_CASE(downloads_that_may_have_been_changed_since) {
    allocate(Memory::pinned, true);
    download(1);
    BOOST_TEST(told_after(trace::SyncKind::event) == 0u); // the program may know of it by now
    BOOST_TEST(told_after(trace::SyncKind::context) == 0u);
    download(2);
    download(3); // to the same place
    BOOST_TEST(told_after(trace::SyncKind::context) == 1u);
    BOOST_TEST(recorder().contents.back().copy == 3u);
    download(4);
    std::thread([&] { BOOST_TEST(told_after(trace::SyncKind::context) == 1u); }).join();
    BOOST_REQUIRE(erase_allocation(address()));
    munmap(host, page);
    BOOST_TEST(told_after(trace::SyncKind::context) == 1u); // freed, and not to be read
}

BOOST_AUTO_TEST_SUITE_END()
