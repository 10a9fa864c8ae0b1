/// Objects of the program that reach the driver past us.
#pragma once

namespace umadvisor::attach {

/// Calls `tell(symbol, object)` for each symbol that an object has bound to the driver or to libc though our
/// wrapper comes first. RTLD_DEEPBIND does that; such calls and look-ups are not seen.
void find_bypasses(void (*tell)(const char* symbol, const char* object)) noexcept;

} // namespace umadvisor::attach
