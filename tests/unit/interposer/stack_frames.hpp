/// Frames that no compiler here makes, in assembly.
#pragma once

#include <cstdint>

// They hand the argument on to the function. All but the last have unwinding information.
extern "C" {
void call_with_data_in_rbp(void (*function)(int), int depth, std::uint64_t data);
void call_based_on_rbx(void (*function)(int), int depth, std::uint64_t room_mask);
void call_on_stack(void (*function)(int), int depth, void* stack_end);
void call_without_unwind_info(void (*function)(int), int depth);
}
