/// Objects of the program that reach the driver past us.
#pragma once

namespace umadvisor::attach {

/// Calls `tell(symbol, object)` for each symbol that an object was bound to in the driver or in libc though
/// ours stands before them. That is what RTLD_DEEPBIND does; such calls and look-ups are not seen.
void find_bypasses(void (*tell)(const char* symbol, const char* object)) noexcept;

} // namespace umadvisor::attach
