// --version, and with --verbose what the program is made of: who must rebuild when OpenSSL or the C
// library is mended sees it here.
#include "version.hpp"

#include "carried.hpp"

#include "gang/net/token.hpp"

#include <gnu/libc-version.h>

namespace muster {
namespace {

std::string line_of(const std::string& name,
                    const std::string& version,
                    const std::string& package) {
  const std::string from = package.empty() ? "" : " (Debian package " + package + ")";
  return name + " " + version + from + "\n";
}

/// Linked statically it is the one of the build, else that of the machine.
std::string glibc_line() {
  const std::string version = ::gnu_get_libc_version();
  return kIsStatic ? line_of("glibc", version, kGlibcPackage)
                   : "glibc " + version + " (of this machine)\n";
}

}  // namespace

std::string version_text(const CompatLauncher* compat) {
  const bool has_product = compat != nullptr && compat->product != nullptr;
  const std::string place = has_product ? std::string(", in the place of ") + compat->product : "";
  return "muster " MUSTER_VERSION + place + "\n";
}

std::string version_details() {
  std::string text = version_text();
  if (*kCommit != '\0') {
    text += std::string("commit ") + kCommit + "\n";
  }
  text += std::string("built for ") + kTarget + " by " + kCompiler +
          (kIsStatic ? ", linked statically\n" : ", linked with the machine's C library\n");
  text += line_of("OpenSSL", gang::openssl_version(), kOpensslPackage) + glibc_line();
  for (const Carried& part : kCarried) {
    text += line_of(part.name, part.version, part.package);
  }
  return text;
}

}  // namespace muster
