// Runs its arguments as on a kernel without pidfds and clone3: a system call filter refuses
// pidfd_open, pidfd_send_signal, waitid(P_PIDFD), clone3 and clone(CLONE_PIDFD).
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

enum {
  kClonePidfd = 0x1000,
  kWaitForPidfd = 3
};

int main(int argc, char** argv) {
  struct sock_filter rules[] = {
      LOAD(nr),
      SKIP_UNLESS(SYS_pidfd_open, 1),
      REFUSE(ENOSYS),
      SKIP_UNLESS(SYS_pidfd_send_signal, 1),
      REFUSE(ENOSYS),
      SKIP_UNLESS(SYS_clone3, 1),
      REFUSE(ENOSYS),
      SKIP_UNLESS(SYS_waitid, 4),
      LOAD(args[0]),
      SKIP_UNLESS(kWaitForPidfd, 1),
      REFUSE(EINVAL),
      ALLOW,
      SKIP_UNLESS(SYS_clone, 3),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kClonePidfd, 0, 1),
      REFUSE(EINVAL),
      ALLOW,
  };
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("without_pidfd");
    return 71;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
