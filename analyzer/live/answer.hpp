/// Members of an answer, of which nothing is known but that it is an object.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace umadvisor::live {

/// An object without members where there is none of this name.
inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
    static const nlohmann::json none = nlohmann::json::object();
    const auto found = object.find(name);
    return found != object.end() && found->is_object() ? *found : none;
}

/// 0 where there is no such number, or a negative one.
inline std::uint64_t count_of(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

/// Empty where there is no such text.
inline std::string text_of(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline bool flag_of(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

} // namespace umadvisor::live
