// A job that dies at one moment:  die_together RANK MICROSECONDS FILE [WORDS]
//
// All workers wait for each other in FILE, and then for the same moment: at it the worker of that rank
// crashes by SIGSEGV, and so many microseconds later the others end with code 1, as if each had noticed it.
// WORDS are what these say before; without them they say that they lost a peer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MARGIN_NS 60000000L  // until all are awake and wait for the moment alone

struct meeting {
  atomic_int here;
  atomic_int is_complete;
  struct timespec moment;
};

static struct timespec later(struct timespec moment, long nanoseconds) {
  const long sum = moment.tv_nsec + nanoseconds;
  return (struct timespec){moment.tv_sec + sum / 1000000000L, sum % 1000000000L};
}

static struct meeting* open_meeting(const char* file) {
  const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct meeting)) != 0) {
    return NULL;
  }
  void* const page = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return page == MAP_FAILED ? NULL : page;
}

static void meet(struct meeting* meeting, int workers) {
  if (atomic_fetch_add(&meeting->here, 1) == workers - 1) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    meeting->moment = later(now, MARGIN_NS);
    atomic_store(&meeting->is_complete, 1);
    syscall(SYS_futex, &meeting->is_complete, FUTEX_WAKE, workers);
  }
  while (atomic_load(&meeting->is_complete) == 0) {
    syscall(SYS_futex, &meeting->is_complete, FUTEX_WAIT, 0, NULL);
  }
}

static void wait_for(struct timespec moment) {
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0) {
  }
}

int main(int argc, char** argv) {
  const char* rank = getenv("RANK");
  const char* world_size = getenv("WORLD_SIZE");
  struct meeting* const meeting = argc < 4 ? NULL : open_meeting(argv[3]);
  if (meeting == NULL || rank == NULL || world_size == NULL) {
    return 64;
  }
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  meet(meeting, atoi(world_size));
  if (atoi(rank) == atoi(argv[1])) {
    wait_for(meeting->moment);
    *(volatile int*)0 = 0;
  }
  wait_for(later(meeting->moment, atol(argv[2]) * 1000));
  fprintf(stderr, "%s\n", argc > 4 ? argv[4] : "read: Connection reset by peer");
  return 1;
}
