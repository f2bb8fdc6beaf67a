// Exits with a code, but the kernel cannot complete the exit while the disk of a file hangs: on exit it has to
// mark a robust futex in a page of the file as one whose owner has died.
//   exit_on_disk FILE GO CODE    waits until GO is there
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lock {
  struct robust_list list;
  uint32_t owner;
};

int main(int argc, char** argv) {
  const int fd = argc == 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
  if (fd < 0 || ftruncate(fd, sizeof(struct lock)) != 0) {
    return 64;
  }
  struct lock* held = mmap(NULL, sizeof(struct lock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  struct robust_list_head locks = {
      .list = {&held->list},
      .futex_offset = offsetof(struct lock, owner),
      .list_op_pending = NULL,
  };
  if (held == MAP_FAILED || syscall(SYS_set_robust_list, &locks, sizeof locks) != 0) {
    return 64;
  }
  held->list.next = &locks.list;
  held->owner = (uint32_t)getpid();
  printf("ready %d\n", getpid());
  fflush(stdout);
  while (access(argv[2], F_OK) != 0) {
    usleep(10000);
  }
  _exit(atoi(argv[3]));
}
