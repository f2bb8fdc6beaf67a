#include "environment/fabric.hpp"

#include "fake_host.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ReadFabricBytes, AddsUpWhatAllPortsCount) {
  const FakeHost host;
  EXPECT_EQ(read_fabric_bytes(host.root()), std::nullopt);

  host.write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  EXPECT_EQ(read_fabric_bytes(host.root()), std::nullopt);

  host.write("/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000");
  host.write("/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "10");
  host.write("/sys/class/infiniband/mlx5_1/ports/2/counters/port_rcv_data", "1");
  EXPECT_EQ(read_fabric_bytes(host.root()), 4'044U) << "a count is of four bytes";

  host.write("/sys/class/infiniband/efa_0/ports/1/hw_counters/tx_bytes", "500");
  host.write("/sys/class/infiniband/efa_0/ports/1/hw_counters/rx_bytes", "50");
  EXPECT_EQ(read_fabric_bytes(host.root()), 4'594U);
}

}  // namespace
}  // namespace muster
