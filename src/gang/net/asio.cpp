// Compiles what Asio would otherwise compile into every file that reads it (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
