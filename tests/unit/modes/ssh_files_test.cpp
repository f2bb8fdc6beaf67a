// The files that ssh and sshd read.
#include "modes/ssh_files.hpp"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

constexpr const char* kKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPY6BhEv38= ann@host-1";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SshFiles, APublicKeyNamesItsOwner) {
  const auto key = read_public_key(std::string(kKey) + "\n");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->words, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPY6BhEv38=");
  EXPECT_EQ(key->user, "ann");
}

TEST(SshFiles, AnInvalidPublicKeyIsRefused) {
  for (const char* const line :
       {"", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 AAAA @host", "ssh-ed25519 AA\"A ann@host",
        "ssh-ed25519 AAAA an\nn@host", "ssh-ed25519 AAAA ann@host\ncommand=\"x\" ssh-ed25519 AAAA ann@host",
        "command=\"x\" ssh-ed25519 AAAA", "ssh-ed25519 AAAA a*@host"}) {
    EXPECT_FALSE(read_public_key(line)) << line;
  }
}

TEST(SshFiles, TheServerTakesKeysAlone) {
  const std::string text = server_config("/run/ssh", 36'666, "ann");
  for (const char* const line :
       {"Port 36666\n", "HostKey /run/ssh/host_key\n", "AuthorizedKeysFile /run/ssh/authorized_keys\n",
        "AllowUsers ann\n", "ForceCommand exec /bin/sh /run/ssh/session\n", "PasswordAuthentication no\n",
        "StrictModes no\n", "PidFile none\n"}) {
    EXPECT_TRUE(has(text, line)) << line;
  }
}

TEST(SshFiles, ASessionHasVariablesByteForByte) {
  const std::string text = session_script("/run/ssh", {{"PATH", "/a b:/it's"}, {"X", "1\n2"}});
  EXPECT_TRUE(has(text, "export PATH='/a b:/it'\\''s'\nexport X='1\n2'\ncd '/run/ssh'\n"));
}

TEST(SshFiles, TheClientKnowsEachNodeByItsName) {
  const std::vector<SshNode> nodes = {{"a", 0, kKey, ""}, {"b.local", 36'666, kKey, "10.0.0.2"}};

  const auto config = client_config("/run/ssh", nodes);
  ASSERT_TRUE(config);
  EXPECT_TRUE(has(*config,
                  "Host b.local\n  HostName 10.0.0.2\n"
                  "  HostKeyAlias muster-node-1\n  Port 36666\n  User ann\n"));
  EXPECT_FALSE(has(*config, "muster-node-0")) << "it has no sshd";

  const auto known = known_hosts(nodes);
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, "muster-node-1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPY6BhEv38=\n");
}

TEST(SshFiles, ANodeCannotAddToTheConfiguration) {
  EXPECT_FALSE(client_config("/run/ssh", {{"a", 1, kKey, "10.0.0.2\nProxyCommand x"}}));
  EXPECT_FALSE(client_config("/run/ssh", {{"a\n  ProxyCommand x", 1, kKey, "10.0.0.2"}}));
  EXPECT_FALSE(client_config("/run/ssh", {{"a", 1, "x", "10.0.0.2"}}));
}

}  // namespace
}  // namespace muster::mpi
