// A job that loses one worker:  lose_a_peer RANK MILLISECONDS [stubborn]
//
// All workers hold a connection to the worker of that rank. It aborts as soon as all are there;
// the others see their connections break and end with code 1 that many milliseconds later, as a
// collective does. A stubborn one ignores TERM, so that it really ends by itself.
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void sleep_milliseconds(long milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

// An abstract address that no other test has: its name is the tag of the test.
static socklen_t meeting_point(struct sockaddr_un* address) {
  const char* tag = getenv("TEST_TAG");
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  const int size =
      snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "peer-%s", tag == NULL ? "untagged" : tag);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

static int abort_before_all_others(int others) {
  struct sockaddr_un address;
  const socklen_t size = meeting_point(&address);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, others) != 0) {
    perror("meeting point");
    return 71;
  }
  for (int i = 0; i < others; ++i) {
    if (accept(listener, NULL, NULL) < 0) {
      return 71;
    }
  }
  fprintf(stderr, "rank %s aborts\n", getenv("RANK"));
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  abort();
}

static int end_after_the_lost_one(long milliseconds) {
  struct sockaddr_un address;
  const socklen_t size = meeting_point(&address);
  const int peer = socket(AF_UNIX, SOCK_STREAM, 0);
  while (connect(peer, (struct sockaddr*)&address, size) != 0) {
    sleep_milliseconds(1);
  }
  char nothing;
  (void)!read(peer, &nothing, 1);
  sleep_milliseconds(milliseconds);
  fprintf(stderr, "rank %s: connection reset by peer\n", getenv("RANK"));
  return 1;
}

int main(int argc, char** argv) {
  const char* rank = getenv("RANK");
  const char* world_size = getenv("WORLD_SIZE");
  if (argc < 3 || rank == NULL || world_size == NULL) {
    return 64;
  }
  if (argc > 3) {
    signal(SIGTERM, SIG_IGN);
  }
  return atoi(rank) == atoi(argv[1]) ? abort_before_all_others(atoi(world_size) - 1)
                                     : end_after_the_lost_one(atol(argv[2]));
}
