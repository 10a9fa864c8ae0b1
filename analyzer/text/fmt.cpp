// The functions of fmt that are no templates. Debian has them in a shared library only, which a machine that
// gets a bundle would need, too; and with FMT_HEADER_ONLY every file would take six seconds to compile them.
#include <fmt/format-inl.h>

template auto fmt::detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl(locale_ref) -> char;
