// Says "closing", closes its standard streams and lives on until the file ARG1 appears; then
// ends with 0.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  dprintf(STDOUT_FILENO, "closing\n");
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  while (argc > 1 && access(argv[1], F_OK) != 0) {
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  return 0;
}
