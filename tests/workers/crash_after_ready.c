// Says "ready" on standard output, its last words on standard error, without a newline, and
// aborts. The text can be given; a number before it says how many lines come first.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char** argv) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  dprintf(STDOUT_FILENO, "ready\n");
  const int lines = argc > 1 ? atoi(argv[1]) : 0;
  for (int i = 0; i < lines; ++i) {
    dprintf(STDERR_FILENO, "line %d of %d\n", i + 1, lines);
  }
  dprintf(STDERR_FILENO, "%s", argc > 2 ? argv[2] : "last words");
  abort();
}
