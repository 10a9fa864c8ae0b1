/// Which part of the file of `umadvisor calibrate` a trace carries.
#include "interposer/runtime/machine_rates.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(record_rates)

using umadvisor::runtime::rates_of_device;

namespace {

std::string object(const std::string& device,
                   const std::string& rates = "\n    \"small_copy_ns\": 5000.0\n  ") {
    return "{\n  \"schema\": \"umadvisor-machine-1\",\n  \"device\": \"" + device + "\",\n  \"rates\": {" +
           rates + "}\n}";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_object_of_the_device) {
    const std::string a = object("A"), ab = object("AB"), odd = object("}\\\"{");
    BOOST_TEST(rates_of_device(a, "A") == a);
    BOOST_TEST(rates_of_device(a + "\n", "A") == a);
    BOOST_TEST(rates_of_device("[\n" + odd + ",\n" + ab + ",\n" + a + "\n]", "A") == a);
    BOOST_TEST(rates_of_device("[" + a + "," + ab + "]", "AB") == ab);
    BOOST_TEST(rates_of_device(ab, "A") == "");
    BOOST_TEST(rates_of_device(ab, "") == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_such_file_has_none) {
    const std::string whole = object("A");
    for (std::size_t length = 0; length < whole.size(); ++length)
        BOOST_TEST(rates_of_device(std::string_view(whole).substr(0, length), "A") == "");
    for (const std::string text : {"}}}", "\"", "\"\\", "{\"device\": \"A\"}", "[[[{{{"})
        BOOST_TEST(rates_of_device(text, "A") == "", text);
}

BOOST_AUTO_TEST_SUITE_END()
