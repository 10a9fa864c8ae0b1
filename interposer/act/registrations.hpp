/// Registrations of host memory that the program ends and makes again: the driver keeps them meanwhile. All
/// functions are thread-safe; none is called with a lock of ours.
#pragma once

#include "interposer/act/action.hpp"

namespace umadvisor::act {

/// None is kept from now on: kernels reach pageable memory, and would go on to reach these pages by the
/// driver's registration, whatever the program maps there.
void keep_no_registrations() noexcept;

/// Answers with a registration that is kept, or has the driver make one. False: the call is left to the driver.
bool register_again(RegistrationScope& asked) noexcept;

/// Keeps the registration that the program ends, after the wait that the driver makes. False: the call is left
/// to the driver.
bool keep_registration(FreeingScope& freeing) noexcept;

/// Ends those that the program has not come back for, or whose memory is gone. Called where the program has
/// just waited for the current context, since the driver waits for that before it ends one.
void end_old_registrations() noexcept;

/// Ends all; half as much is kept from now on. Returns whether there were any.
bool give_back_registrations() noexcept;

std::uint64_t kept_registration_bytes() noexcept;

void forget_registrations(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act
