// A progress bar as many programs draw it: "10%", "\r20%" ... "\r100%" and one newline at the end.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void) {
  for (int percent = 10; percent <= 100; percent += 10) {
    dprintf(STDOUT_FILENO, "%s%d%%", percent == 10 ? "" : "\r", percent);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  dprintf(STDOUT_FILENO, "\n");
  return 0;
}
