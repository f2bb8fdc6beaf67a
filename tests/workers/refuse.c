// Runs its arguments under a seccomp filter that refuses the system calls that one of these systems refuses:
//
//   refuse SYSTEM COMMAND [ARG...]
//
// linux-4.18  what came later does not exist: ENOSYS, and EINVAL for later flags of older calls
// old-docker  Docker before 20.10 with libseccomp 2.4: EPERM for what the profile does not name, which is
//             each newer call, and for what it allows only with a capability that containers lack.
//             Source: profiles/seccomp/default.json of moby 19.03
// gvisor      gVisor before it had pidfds: ENOSYS, and what it answers otherwise. An older one has no
//             subreapers either: as `prctl`. Source: pkg/sentry/syscalls/linux/linux64.go
//
// or one kind of call, mostly with EPERM: mempolicy, affinity, prctl, death-signal, pidfd-signals, limits,
// inotify, pipes, processes, sessions, epoll, epoll-changes, epoll-waits, timers, timer-settings, signal-files, signal-masks,
// descriptor-settings (fcntl), device-settings (ioctl), file-status (fstat), pseudo-terminals (one ioctl), and threads with EAGAIN, as at a limit of processes.
//
// It executes the command, so the process stays the same. Filters add up: refuse prctl refuse limits COMMAND.
#include <errno.h>
#include <linux/audit.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the numbers below are those of x86-64"
#endif

enum {
  kLastOf418 = SYS_rseq,
  kWaitForPidfd = 3,
  kThread = 0x10000,  // CLONE_THREAD
  // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET
  kNewNamespaces = 0x7e020000,
  kClonePidfd = 0x1000,
  kMost = 256
};

static struct sock_filter rules[kMost];
static unsigned short count;

static void add(struct sock_filter rule) {
  rules[count++] = rule;
}

static void load(size_t offset) {
  add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

// Every rule begins with the number of the call loaded, and leaves it so.
static void load_number(void) {
  load(offsetof(struct seccomp_data, nr));
}

static void jump(unsigned short how, unsigned value, unsigned char if_true, unsigned char if_false) {
  add((struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | how | BPF_K), value, if_true, if_false));
}

static void answer(unsigned value) {
  add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static void answer_error(int error) {
  answer(SECCOMP_RET_ERRNO | (unsigned)error);
}

static void refuse(unsigned number, int error) {
  jump(BPF_JEQ, number, 0, 1);
  answer_error(error);
}

static void refuse_all(const unsigned* numbers, size_t size, int error) {
  for (size_t i = 0; i < size; ++i) {
    refuse(numbers[i], error);
  }
}
#define REFUSE_ALL(numbers, error) refuse_all(numbers, sizeof(numbers) / sizeof *(numbers), error)

static void refuse_after(unsigned last, int error) {
  jump(BPF_JGT, last, 0, 1);
  answer_error(error);
}

// Refuses a call whose argument (its lower half) equals a value, or has a bit of it.
static void refuse_argument(unsigned number, int which, unsigned short how, unsigned value, int error) {
  jump(BPF_JEQ, number, 0, 4);
  load(offsetof(struct seccomp_data, args) + sizeof(__u64) * (size_t)which);
  jump(how, value, 0, 1);
  answer_error(error);
  load_number();
}

static void linux_4_18(void) {
  refuse_after(kLastOf418, ENOSYS);
  refuse_argument(SYS_waitid, 0, BPF_JEQ, kWaitForPidfd, EINVAL);
  refuse_argument(SYS_clone, 0, BPF_JSET, kClonePidfd, EINVAL);
}

static void old_docker(void) {
  static const unsigned forbidden[] = {
      SYS_rseq,
      SYS_pkey_alloc,
      SYS_pkey_free,
      SYS_pkey_mprotect,
      SYS_set_mempolicy,
      SYS_get_mempolicy,
      SYS_mbind,
      SYS_migrate_pages,
      SYS_move_pages,
      SYS_kcmp,

      SYS_unshare,
      SYS_setns,
      SYS_mount,
      SYS_umount2,
      SYS_bpf,
      SYS_userfaultfd,
      SYS_add_key,
      SYS_keyctl,
      SYS_request_key,

      SYS_perf_event_open,
      SYS_open_by_handle_at,
      SYS_fanotify_init,
      SYS_pivot_root,
      SYS_quotactl,
      SYS_syslog,
  };
  refuse_after(kLastOf418, EPERM);
  REFUSE_ALL(forbidden, EPERM);
  refuse_argument(SYS_waitid, 0, BPF_JEQ, kWaitForPidfd, EINVAL);
  refuse_argument(SYS_clone, 0, BPF_JSET, kNewNamespaces, EPERM);
}

static void gvisor(void) {
  static const unsigned missing[] = {
      SYS_copy_file_range, SYS_pkey_alloc, SYS_pkey_free,     SYS_pkey_mprotect, SYS_io_pgetevents, SYS_rseq,
      SYS_userfaultfd,     SYS_vmsplice,   SYS_fanotify_init, SYS_membarrier,    SYS_preadv2,       SYS_pwritev2,
  };
  static const unsigned forbidden[] = {SYS_kcmp, SYS_bpf, SYS_migrate_pages, SYS_move_pages, SYS_syslog};
  refuse_after(kLastOf418, ENOSYS);
  REFUSE_ALL(missing, ENOSYS);
  REFUSE_ALL(forbidden, EPERM);
  refuse(SYS_perf_event_open, ENODEV);
  refuse_argument(SYS_waitid, 0, BPF_JEQ, kWaitForPidfd, EINVAL);
}

static void mempolicy(void) {
  refuse(SYS_set_mempolicy, EPERM);
}

static void affinity(void) {
  refuse(SYS_sched_setaffinity, EPERM);
}

static void death_signal(void) {
  refuse_argument(SYS_prctl, 0, BPF_JEQ, PR_SET_PDEATHSIG, EPERM);
}

static void prctls(void) {
  death_signal();
  refuse_argument(SYS_prctl, 0, BPF_JEQ, PR_SET_CHILD_SUBREAPER, EPERM);
}

static void pidfd_signals(void) {
  refuse(SYS_pidfd_send_signal, EPERM);
}

static void limits(void) {
  refuse(SYS_prlimit64, EPERM);
  refuse(SYS_setrlimit, EPERM);
  refuse(SYS_getrlimit, EPERM);
}

static void inotify(void) {
  refuse(SYS_inotify_init1, EPERM);
  refuse(SYS_inotify_add_watch, EPERM);
}

static void pipes(void) {
  refuse(SYS_pipe, EPERM);
  refuse(SYS_pipe2, EPERM);
}

static void random_bytes(void) {
  refuse(SYS_getrandom, EPERM);
}

static void groups(void) {
  refuse(SYS_setpgid, EPERM);
}

static void sockets(void) {
  refuse(SYS_socket, EPERM);
}

static void processes(void) {
  refuse(SYS_fork, EPERM);
  refuse(SYS_vfork, EPERM);
  refuse(SYS_clone, EPERM);
  refuse(SYS_clone3, EPERM);
}

static void sessions(void) {
  refuse(SYS_setsid, EPERM);
}

static void epoll(void) {
  refuse(SYS_epoll_create1, EPERM);
}

static void epoll_changes(void) {
  refuse(SYS_epoll_ctl, EPERM);
}

static void epoll_waits(void) {
  refuse(SYS_epoll_wait, EPERM);
  refuse(SYS_epoll_pwait, EPERM);
}

static void timers(void) {
  refuse(SYS_timerfd_create, EPERM);
}

static void timer_settings(void) {
  refuse(SYS_timerfd_settime, EPERM);
}

static void signal_files(void) {
  refuse(SYS_signalfd4, EPERM);
}

static void signal_masks(void) {
  refuse(SYS_rt_sigprocmask, EPERM);
}

static void descriptor_settings(void) {
  refuse(SYS_fcntl, EPERM);
}

static void device_settings(void) {
  refuse(SYS_ioctl, EPERM);
}

static void file_status(void) {
  refuse(SYS_fstat, EPERM);
  refuse_argument(SYS_newfstatat, 3, BPF_JSET, AT_EMPTY_PATH, EPERM);
}

static void pseudo_terminals(void) {
  refuse_argument(SYS_ioctl, 1, BPF_JEQ, TIOCSPTLCK, EPERM);
}

static void threads(void) {
  refuse(SYS_clone3, ENOSYS);  // its flags are in memory, which no filter reads
  refuse_argument(SYS_clone, 0, BPF_JSET, kThread, EAGAIN);
}

static const struct {
  const char* name;
  void (*rules)(void);
} systems[] = {
    {"linux-4.18", linux_4_18},
    {"old-docker", old_docker},
    {"gvisor", gvisor},
    {"mempolicy", mempolicy},
    {"affinity", affinity},
    {"prctl", prctls},
    {"death-signal", death_signal},
    {"pidfd-signals", pidfd_signals},
    {"limits", limits},
    {"inotify", inotify},
    {"pipes", pipes},
    {"random", random_bytes},
    {"groups", groups},
    {"sockets", sockets},
    {"processes", processes},
    {"sessions", sessions},
    {"epoll", epoll},
    {"epoll-changes", epoll_changes},
    {"epoll-waits", epoll_waits},
    {"timers", timers},
    {"timer-settings", timer_settings},
    {"signal-files", signal_files},
    {"signal-masks", signal_masks},
    {"descriptor-settings", descriptor_settings},
    {"device-settings", device_settings},
    {"file-status", file_status},
    {"pseudo-terminals", pseudo_terminals},
    {"threads", threads},
};

static int make_rules(const char* name) {
  load(offsetof(struct seccomp_data, arch));
  jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
  answer(SECCOMP_RET_ALLOW);  // of 32 bits: none of ours
  load_number();
  for (size_t i = 0; i < sizeof systems / sizeof *systems; ++i) {
    if (strcmp(systems[i].name, name) == 0) {
      systems[i].rules();
      answer(SECCOMP_RET_ALLOW);
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3 || !make_rules(argv[1])) {
    fprintf(stderr, "usage: refuse SYSTEM COMMAND [ARG...]\n");
    return 64;
  }
  const struct sock_fprog program = {count, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("refuse");
    return 71;
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
