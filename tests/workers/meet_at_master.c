// The workers of a job meet at MASTER_ADDR:MASTER_PORT: rank 0 listens there, the others send it
// their rank, and it answers each with the sum of all. Everyone says "rank R: sum S".
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kTries = 60000,
  kMaxWorkers = 256
};

static int number(const char* name) {
  const char* text = getenv(name);
  if (text == NULL) {
    fprintf(stderr, "%s is not set\n", name);
    exit(78);
  }
  return atoi(text);
}

static void require(int holds, const char* what) {
  if (!holds) {
    perror(what);
    exit(71);
  }
}

static struct sockaddr_in master(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_port = htons((uint16_t)number("MASTER_PORT"));
  require(inet_pton(AF_INET, getenv("MASTER_ADDR"), &address.sin_addr) == 1, "MASTER_ADDR");
  return address;
}

static int sum_as_leader(int world_size) {
  const struct sockaddr_in address = master();
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  // Every listening worker sets SO_REUSEADDR, PyTorch's store included.
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  require(bind(listener, (const struct sockaddr*)&address, sizeof address) == 0, "bind");
  require(listen(listener, kMaxWorkers) == 0, "listen");
  int others[kMaxWorkers];
  int sum = 0;
  for (int i = 0; i + 1 < world_size; ++i) {
    int rank = 0;
    others[i] = accept(listener, NULL, NULL);
    require(others[i] >= 0, "accept");
    require(read(others[i], &rank, sizeof rank) == sizeof rank, "read");
    sum += rank;
  }
  for (int i = 0; i + 1 < world_size; ++i) {
    require(write(others[i], &sum, sizeof sum) == sizeof sum, "write");
  }
  return sum;
}

static int sum_from_leader(int rank) {
  const struct sockaddr_in address = master();
  for (int tries = 0; tries < kTries; ++tries) {
    const int leader = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(leader, (const struct sockaddr*)&address, sizeof address) == 0) {
      int sum = 0;
      require(write(leader, &rank, sizeof rank) == sizeof rank, "write");
      require(read(leader, &sum, sizeof sum) == sizeof sum, "read");
      return sum;
    }
    close(leader);
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  }
  require(0, "connect");
  return -1;
}

int main(void) {
  const int rank = number("RANK");
  const int world_size = number("WORLD_SIZE");
  printf("rank %d: sum %d\n", rank, rank == 0 ? sum_as_leader(world_size) : sum_from_leader(rank));
  return 0;
}
