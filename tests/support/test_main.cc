#define BOOST_TEST_MODULE writ
#include <boost/test/unit_test.hpp>
