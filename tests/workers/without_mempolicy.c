// Runs its arguments as in a container whose filter lets nobody choose memory nodes: set_mempolicy is
// refused with EPERM. With "affinity" as ARG1, sched_setaffinity is refused as well.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char** argv) {
  const int with_affinity = argc > 2 && strcmp(argv[1], "affinity") == 0;
  struct sock_filter rules[] = {
      LOAD(nr),
      SKIP_UNLESS(SYS_set_mempolicy, 1),
      REFUSE(EPERM),
      SKIP_UNLESS(with_affinity ? SYS_sched_setaffinity : SYS_set_mempolicy, 1),
      REFUSE(EPERM),
      ALLOW,
  };
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  char** const command = argv + 1 + with_affinity;
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("without_mempolicy");
    return 71;
  }
  execvp(command[0], command);
  perror(command[0]);
  return 127;
}
