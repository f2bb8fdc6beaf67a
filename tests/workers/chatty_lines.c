// Writes numbered lines at a steady rate:  chatty_lines COUNT LINES_PER_SECOND out|err|both
//
// A line is "<O|E> <rank> <number> xxx...", of a length that depends on its number, so a reader
// can tell every torn, lost or moved line. Each line is one write, but every sixteenth is two.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  kLinesPerWake = 10
};

static void write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0) {
      _exit(71);
    }
    bytes += written;
    size -= (size_t)written;
  }
}

static void write_line(int fd, char stream, const char* rank, long number) {
  char line[256];
  int size = snprintf(line, sizeof line, "%c %s %06ld ", stream, rank, number);
  const int padding = (int)(number * 7 % 90);
  memset(line + size, 'x', (size_t)padding);
  size += padding;
  line[size++] = '\n';
  const size_t cut = number % 16 == 0 ? (size_t)(number % size) : 0;
  if (cut > 0) {
    write_all(fd, line, cut);
  }
  write_all(fd, line + cut, (size_t)size - cut);
}

static void wait_until_due(struct timespec* due, long rate) {
  due->tv_nsec += kLinesPerWake * (1000000000L / rate);
  while (due->tv_nsec >= 1000000000L) {
    due->tv_nsec -= 1000000000L;
    ++due->tv_sec;
  }
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    return 64;
  }
  const long count = atol(argv[1]);
  const long rate = atol(argv[2]);
  const char* rank = getenv("RANK");
  rank = rank == NULL ? "0" : rank;
  struct timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (long number = 0; number < count; ++number) {
    if (strcmp(argv[3], "err") != 0) {
      write_line(STDOUT_FILENO, 'O', rank, number);
    }
    if (strcmp(argv[3], "out") != 0) {
      write_line(STDERR_FILENO, 'E', rank, number);
    }
    if (number % kLinesPerWake == kLinesPerWake - 1) {
      wait_until_due(&due, rate);
    }
  }
  return 0;
}
