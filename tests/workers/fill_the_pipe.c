// Writes ARG1 bytes of 64-byte lines, as fast as the reader takes them, says "written" on
// standard error and ends with 0.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const long lines = (argc > 1 ? atol(argv[1]) : 1000000) / 64;
  const char* rank = getenv("RANK");
  for (long number = 0; number < lines; ++number) {
    char line[65];
    memset(line, '.', sizeof line);
    const int size = snprintf(line, sizeof line, "%s %ld ", rank == NULL ? "0" : rank, number);
    line[size] = '.';
    line[63] = '\n';
    if (fwrite(line, 1, 64, stdout) != 64) {
      return 71;
    }
  }
  if (fflush(stdout) != 0) {
    return 71;
  }
  dprintf(STDERR_FILENO, "written\n");
  return 0;
}
