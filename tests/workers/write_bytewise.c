// Writes its argument and a newline, every byte in a write of its own, with a pause after each
// byte that begins or goes on with a UTF-8 sequence.
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  for (const char* byte = argc > 1 ? argv[1] : ""; *byte != '\0'; ++byte) {
    (void)!write(STDOUT_FILENO, byte, 1);
    if ((*byte & 0x80) != 0) {
      nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
  }
  (void)!write(STDOUT_FILENO, "\n", 1);
  return 0;
}
