"""The call table: what each system call is, and what racecheck does about it.

Every call that a machine has is in exactly one of seven places:

- `ROWS`: it names, reads or changes files, so it is a step;
- `SERVICES`: racecheck answers it itself, and it is no step;
- `REFUSED`: it would leave racecheck's control, so it fails, and the verdict says so;
- `WAITS`: it waits for another task or for time, and racecheck waits in its place;
- `CARRIERS` and `WATCHERS`: it hands over descriptors, or reports on files;
- `HARMLESS`: it touches neither files nor what racecheck virtualises.

A call in none of them is one that racecheck does not know. `racecheck.kernel.table` has
the same by the call numbers of one machine.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from racecheck.kernel.seccomp import Condition
from racecheck.model.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

# Conditions compare the low 32 bits: that is all the kernel takes of these arguments.
_WORD = 0xFFFFFFFF


# Rows are compared by identity, which makes them cheap keys: the table has each once.
@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One system call, or one of the things that a call with a command does.

    Attributes:
        name: Name of the call.
        kind: What it does.
        args: What its raw arguments mean, in order. The same name means the same in
            all rows, so that `rename` and `renameat2` decode alike. `_` is an argument
            that says nothing about files, or that only holds an address.
        when: Which of several rows of one name applies; they exclude each other.

    The names: `path`, `oldpath` and `newpath` are looked up, from `dirfd`, `olddirfd`
    and `newdirfd` where those exist; `target` is the text of a symlink. Descriptors are
    `fd`, `last` (of a range), `oldfd` and `newfd` (of a copied descriptor), `infd` and
    `outfd` (of copied bytes). `offset` is a number, `inoffset` and `outoffset` are
    addresses of one. `data` and `value` are addresses of `count` bytes to take, and
    `buffer` is where `count` bytes can be put; `iov` is the address of `vectors` such
    pairs. `how`, `lock`, `range`, `times` and `xattr` are addresses of structures.
    `count` and `length` are numbers of bytes, of memory and of files. `flags` are the
    call's own; for calls that look up a path and have no others they are `AT_...`.
    """

    name: str
    kind: Kind
    args: tuple[str, ...]
    when: Condition | None = None

    def applies(self, raw: Sequence[int]) -> bool:
        """Return whether a call of this name with these arguments is meant."""
        when = self.when
        return when is None or ((raw[when.argument] & _WORD) in when.values) is not (
            when.negate
        )

    def index(self, name: str) -> int | None:
        """Return which raw argument has a name, or None if there is none."""
        return self.args.index(name) if name in self.args else None


class Service(StrEnum):
    """What racecheck answers in the kernel's place, or has to know of."""

    PID = "pid"
    TID = "tid"
    PPID = "ppid"
    RANDOM = "random"
    SIGNAL = "signal"
    GROUP = "group"
    SPAWN = "spawn"
    CLOCK = "clock"
    ALARM = "alarm"
    BIND = "bind"
    CONNECT = "connect"
    SHARE = "share"
    TARGET = "target"
    DUMPABLE = "dumpable"


@dataclass(frozen=True, slots=True)
class Silent:
    """A call that racecheck serves without making it a step.

    Attributes:
        name: Name of the call.
        service: What it asks for.
        args: What its raw arguments mean, as in a row.
    """

    name: str
    service: Service
    args: tuple[str, ...] = ()


# Commands of fcntl(2) and requests of ioctl(2), which are the same on both machines
# (`linux/fcntl.h`, `asm-generic/fcntl.h`, `linux/fs.h`, `asm-generic/ioctls.h`).
F_DUPFD, F_SETFD, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS = 0, 2, 4, 1030, 1033
F_GETLK, F_SETLK, F_SETLKW = 5, 6, 7
F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW = 36, 37, 38
FICLONE, FICLONERANGE, FIDEDUPERANGE = 0x40049409, 0x4020940D, 0xC0189436
FIONCLEX, FIOCLEX = 0x5450, 0x5451
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR = 0x801C581F, 0x401C5820

AT_REMOVEDIR = 0x200
PR_SET_DUMPABLE = 4


def _when(argument: int, *values: int, negate: bool = False) -> Condition:
    return Condition(argument, frozenset(values), negate)


QUIET: dict[str, Condition] = {
    # F_GETFD, F_GETFL; F_GETOWN, signal and size of a pipe; F_GETLEASE, F_GET_SEALS,
    # F_DUPFD_QUERY, F_CREATED_QUERY; hints about the life of data.
    "fcntl": _when(
        1,
        *(1, 3, 9, 10, 11, 16, 17, 1025, 1027, 1028, 1031, 1032, 1034),
        *range(1035, 1039),
    ),
    # What a terminal is like (TCGET*, TIOCG*, TIOCOUTQ, TIOCMGET); FIONBIO, FIOASYNC,
    # FIGETBSZ. FIONREAD is not among them: for a file it gives size and position.
    "ioctl": _when(
        1,
        *(0x5401, 0x5405, 0x540F, 0x5411, 0x5413, 0x5415, 0x5419, 0x541E, 0x5424),
        *(0x5429, 0x542E, 0x5432, 0x802C542A),
        *(0x80045430, 0x80045432, 0x80045438, 0x80045439, 0x80045440),
        *(0x5421, 0x5452, 2),
    ),
    # A mapping of no file.
    "mmap": _when(4, _WORD),
    # What the kernel has logged, and how much that is. SYSLOG_ACTION_READ is not among
    # them, since it takes away what it reads.
    "syslog": _when(0, 3, 9, 10),
    "prctl": _when(0, PR_SET_DUMPABLE, negate=True),
}
"""Arguments with which a call that is not harmless in general needs no stop.

All others stop, so that a command which no row knows is named and not passed over.
"""

_OLD_NEW = ("oldpath", "newpath")
_OLD_NEW_AT = ("olddirfd", "oldpath", "newdirfd", "newpath")
_COPY = ("infd", "inoffset", "outfd", "outoffset", "count", "flags")
_REQUEST = ("fd", "request", "_")
_DUPLICATES = _when(1, F_DUPFD, F_DUPFD_CLOEXEC)
_LOCKS = _when(1, F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW)
_SETS = _when(1, F_SETFD, F_SETFL, F_ADD_SEALS)
_GET_FLAGS = _when(1, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR)
_SET_FLAGS = _when(1, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR)
_UNLINK, _RMDIR = _when(2, AT_REMOVEDIR, negate=True), _when(2, AT_REMOVEDIR)

ROWS: tuple[Row, ...] = (
    Row("open", Kind.OPEN, ("path", "flags", "mode")),
    Row("creat", Kind.OPEN, ("path", "mode")),
    Row("openat", Kind.OPEN, ("dirfd", "path", "flags", "mode")),
    Row("openat2", Kind.OPEN, ("dirfd", "path", "how", "count")),
    Row("read", Kind.READ, ("fd", "buffer", "count")),
    Row("pread64", Kind.READ, ("fd", "buffer", "count", "offset")),
    Row("readv", Kind.READ, ("fd", "iov", "vectors")),
    # The fifth argument is the upper half of the offset where registers have 32 bits.
    Row("preadv", Kind.READ, ("fd", "iov", "vectors", "offset", "_")),
    Row("preadv2", Kind.READ, ("fd", "iov", "vectors", "offset", "_", "flags")),
    Row("write", Kind.WRITE, ("fd", "data", "count")),
    Row("pwrite64", Kind.WRITE, ("fd", "data", "count", "offset")),
    Row("writev", Kind.WRITE, ("fd", "iov", "vectors")),
    Row("pwritev", Kind.WRITE, ("fd", "iov", "vectors", "offset", "_")),
    Row("pwritev2", Kind.WRITE, ("fd", "iov", "vectors", "offset", "_", "flags")),
    Row("close", Kind.CLOSE, ("fd",)),
    Row("close_range", Kind.CLOSE, ("fd", "last", "flags")),
    Row("lseek", Kind.SEEK, ("fd", "offset", "whence")),
    Row("dup", Kind.DUP, ("oldfd",)),
    Row("dup2", Kind.DUP, ("oldfd", "newfd")),
    Row("dup3", Kind.DUP, ("oldfd", "newfd", "flags")),
    Row("fcntl", Kind.DUP, ("oldfd", "command", "argument"), _DUPLICATES),
    Row("fcntl", Kind.LOCK, ("fd", "command", "lock"), _LOCKS),
    Row("fcntl", Kind.OTHER, ("fd", "command", "argument"), _SETS),
    Row("ioctl", Kind.COPY, ("outfd", "request", "infd"), _when(1, FICLONE)),
    Row("ioctl", Kind.COPY, ("outfd", "request", "range"), _when(1, FICLONERANGE)),
    # Sharing the blocks of equal ranges changes no byte, so it is no copy.
    Row("ioctl", Kind.OTHER, ("infd", "request", "_"), _when(1, FIDEDUPERANGE)),
    Row("ioctl", Kind.OTHER, _REQUEST, _when(1, FIOCLEX, FIONCLEX)),
    # Flags as chattr(1) sets them are attributes of the inode beside its mode.
    Row("ioctl", Kind.GETXATTR, _REQUEST, _GET_FLAGS),
    Row("ioctl", Kind.SETXATTR, _REQUEST, _SET_FLAGS),
    Row("file_getattr", Kind.GETXATTR, ("dirfd", "path", "_", "_", "flags")),
    Row("file_setattr", Kind.SETXATTR, ("dirfd", "path", "_", "_", "flags")),
    Row("rename", Kind.RENAME, _OLD_NEW),
    Row("renameat", Kind.RENAME, _OLD_NEW_AT),
    Row("renameat2", Kind.RENAME, (*_OLD_NEW_AT, "flags")),
    Row("link", Kind.LINK, _OLD_NEW),
    Row("linkat", Kind.LINK, (*_OLD_NEW_AT, "flags")),
    Row("symlink", Kind.SYMLINK, ("target", "path")),
    Row("symlinkat", Kind.SYMLINK, ("target", "dirfd", "path")),
    Row("unlink", Kind.UNLINK, ("path",)),
    Row("unlinkat", Kind.UNLINK, ("dirfd", "path", "flags"), _UNLINK),
    Row("unlinkat", Kind.RMDIR, ("dirfd", "path", "flags"), _RMDIR),
    Row("rmdir", Kind.RMDIR, ("path",)),
    Row("mkdir", Kind.MKDIR, ("path", "mode")),
    Row("mkdirat", Kind.MKDIR, ("dirfd", "path", "mode")),
    Row("mknod", Kind.MKNOD, ("path", "mode", "device")),
    Row("mknodat", Kind.MKNOD, ("dirfd", "path", "mode", "device")),
    Row("stat", Kind.STAT, ("path", "buffer")),
    Row("lstat", Kind.STAT, ("path", "buffer")),
    Row("fstat", Kind.STAT, ("fd", "buffer")),
    Row("newfstatat", Kind.STAT, ("dirfd", "path", "buffer", "flags")),
    Row("statx", Kind.STAT, ("dirfd", "path", "flags", "_", "buffer")),
    Row("statfs", Kind.STAT, ("path", "_")),
    Row("fstatfs", Kind.STAT, ("fd", "_")),
    Row("access", Kind.ACCESS, ("path", "mode")),
    Row("faccessat", Kind.ACCESS, ("dirfd", "path", "mode")),
    Row("faccessat2", Kind.ACCESS, ("dirfd", "path", "mode", "flags")),
    Row("readlink", Kind.READLINK, ("path", "buffer", "count")),
    Row("readlinkat", Kind.READLINK, ("dirfd", "path", "buffer", "count")),
    Row("getdents", Kind.LISTING, ("fd", "buffer", "count")),
    Row("getdents64", Kind.LISTING, ("fd", "buffer", "count")),
    Row("truncate", Kind.TRUNCATE, ("path", "length")),
    Row("ftruncate", Kind.TRUNCATE, ("fd", "length")),
    Row("fallocate", Kind.ALLOCATE, ("fd", "flags", "offset", "length")),
    Row("fsync", Kind.SYNC, ("fd",)),
    Row("fdatasync", Kind.SYNC, ("fd",)),
    Row("sync_file_range", Kind.SYNC, ("fd", "offset", "length", "flags")),
    Row("syncfs", Kind.SYNC, ("fd",)),
    Row("sync", Kind.SYNC, ()),
    Row("chmod", Kind.CHMOD, ("path", "mode")),
    Row("fchmod", Kind.CHMOD, ("fd", "mode")),
    Row("fchmodat", Kind.CHMOD, ("dirfd", "path", "mode")),
    Row("fchmodat2", Kind.CHMOD, ("dirfd", "path", "mode", "flags")),
    Row("chown", Kind.CHOWN, ("path", "uid", "gid")),
    Row("lchown", Kind.CHOWN, ("path", "uid", "gid")),
    Row("fchown", Kind.CHOWN, ("fd", "uid", "gid")),
    Row("fchownat", Kind.CHOWN, ("dirfd", "path", "uid", "gid", "flags")),
    Row("utime", Kind.UTIMES, ("path", "times")),
    Row("utimes", Kind.UTIMES, ("path", "times")),
    Row("futimesat", Kind.UTIMES, ("dirfd", "path", "times")),
    Row("utimensat", Kind.UTIMES, ("dirfd", "path", "times", "flags")),
    Row("getxattr", Kind.GETXATTR, ("path", "name", "buffer", "count")),
    Row("lgetxattr", Kind.GETXATTR, ("path", "name", "buffer", "count")),
    Row("fgetxattr", Kind.GETXATTR, ("fd", "name", "buffer", "count")),
    Row("getxattrat", Kind.GETXATTR, ("dirfd", "path", "flags", "name", "xattr", "_")),
    Row("listxattr", Kind.GETXATTR, ("path", "buffer", "count")),
    Row("llistxattr", Kind.GETXATTR, ("path", "buffer", "count")),
    Row("flistxattr", Kind.GETXATTR, ("fd", "buffer", "count")),
    Row("listxattrat", Kind.GETXATTR, ("dirfd", "path", "flags", "buffer", "count")),
    Row("setxattr", Kind.SETXATTR, ("path", "name", "value", "count", "option")),
    Row("lsetxattr", Kind.SETXATTR, ("path", "name", "value", "count", "option")),
    Row("fsetxattr", Kind.SETXATTR, ("fd", "name", "value", "count", "option")),
    Row("setxattrat", Kind.SETXATTR, ("dirfd", "path", "flags", "name", "xattr", "_")),
    Row("removexattr", Kind.SETXATTR, ("path", "name")),
    Row("lremovexattr", Kind.SETXATTR, ("path", "name")),
    Row("fremovexattr", Kind.SETXATTR, ("fd", "name")),
    Row("removexattrat", Kind.SETXATTR, ("dirfd", "path", "flags", "name")),
    Row("sendfile", Kind.COPY, ("outfd", "infd", "inoffset", "count")),
    Row("copy_file_range", Kind.COPY, _COPY),
    Row("splice", Kind.COPY, _COPY),
    Row("tee", Kind.COPY, ("infd", "outfd", "count", "flags")),
    # Which way it moves is decided by the end of the pipe.
    Row("vmsplice", Kind.OTHER, ("fd", "_", "vectors", "flags")),
    Row("flock", Kind.FLOCK, ("fd", "command")),
    Row("chdir", Kind.CHDIR, ("path",)),
    Row("fchdir", Kind.CHDIR, ("fd",)),
    Row("getcwd", Kind.GETCWD, ("buffer", "count")),
    Row("execve", Kind.EXEC, ("path", "_", "_")),
    Row("execveat", Kind.EXEC, ("dirfd", "path", "_", "_", "flags")),
    Row(
        "mmap",
        Kind.MAP,
        ("_", "length", "protection", "flags", "fd", "offset"),
        _when(4, _WORD, negate=True),
    ),
    Row("exit", Kind.EXIT, ("status",)),
    Row("exit_group", Kind.EXIT, ("status",)),
)
"""Calls that are steps."""

SERVICES: tuple[Silent, ...] = (
    Silent("getpid", Service.PID),
    Silent("gettid", Service.TID),
    Silent("getppid", Service.PPID),
    Silent("getrandom", Service.RANDOM, ("buffer", "count", "flags")),
    Silent("kill", Service.SIGNAL, ("pid", "signal")),
    Silent("tkill", Service.SIGNAL, ("tid", "signal")),
    Silent("tgkill", Service.SIGNAL, ("pid", "tid", "signal")),
    Silent("rt_sigqueueinfo", Service.SIGNAL, ("pid", "signal", "_")),
    Silent("rt_tgsigqueueinfo", Service.SIGNAL, ("pid", "tid", "signal", "_")),
    Silent("pidfd_open", Service.SIGNAL, ("pid", "flags")),
    Silent("pidfd_send_signal", Service.SIGNAL, ("fd", "signal", "_", "flags")),
    Silent("getpgid", Service.GROUP, ("pid",)),
    Silent("getpgrp", Service.GROUP),
    Silent("setpgid", Service.GROUP, ("pid", "group")),
    Silent("getsid", Service.GROUP, ("pid",)),
    Silent("setsid", Service.GROUP),
    # A socket can get a name in a folder.
    Silent("bind", Service.BIND, ("fd", "address", "count")),
    # Somebody can be found by it whom nobody controls.
    Silent("connect", Service.CONNECT, ("fd", "address", "count")),
    # What these find by a name or a key, everybody finds.
    *(Silent(name, Service.SHARE, ("name",)) for name in ("mq_open", "mq_unlink")),
    *(Silent(name, Service.SHARE, ("key",)) for name in ("msgget", "semget", "shmget")),
    *(
        Silent(name, Service.SHARE, ("id",))
        for name in (
            *("msgsnd", "msgrcv", "msgctl", "semop", "semtimedop", "semctl"),
            *("shmat", "shmctl"),
        )
    ),
    # Only programs that pass the vDSO by, or that ask for another clock, get here.
    Silent("time", Service.CLOCK, ("result",)),
    Silent("gettimeofday", Service.CLOCK, ("result", "_")),
    Silent("clock_gettime", Service.CLOCK, ("clock", "result")),
    Silent("times", Service.CLOCK, ("result",)),
    Silent("alarm", Service.ALARM, ("seconds",)),
    Silent("getitimer", Service.ALARM, ("timer", "result")),
    Silent("setitimer", Service.ALARM, ("timer", "value", "result")),
    Silent("timer_create", Service.ALARM, ("clock", "event", "result")),
    Silent("timer_settime", Service.ALARM, ("timer", "flags", "value", "result")),
    Silent("timer_gettime", Service.ALARM, ("timer", "result")),
    Silent("timer_getoverrun", Service.ALARM, ("timer",)),
    Silent("timer_delete", Service.ALARM, ("timer",)),
    Silent("timerfd_settime", Service.ALARM, ("fd", "flags", "value", "result")),
    Silent("timerfd_gettime", Service.ALARM, ("fd", "result")),
    # How another process is run. Ids are translated, and others left alone.
    *(
        Silent(name, Service.TARGET, ("which", "pid", "_"))
        for name in ("getpriority", "setpriority", "ioprio_get", "ioprio_set")
    ),
    *(
        Silent(name, Service.TARGET, ("pid", "_", "_", "_"))
        for name in (
            *("prlimit64", "migrate_pages", "sched_rr_get_interval"),
            *("sched_getaffinity", "sched_setaffinity"),
            *("sched_getscheduler", "sched_setscheduler"),
            *("sched_getparam", "sched_setparam"),
            *("sched_getattr", "sched_setattr"),
        )
    ),
    # No other option stops.
    Silent("prctl", Service.DUMPABLE, ("option", "value")),
    Silent("fork", Service.SPAWN),
    Silent("vfork", Service.SPAWN),
    Silent("clone", Service.SPAWN, ("flags", "_", "_", "_", "_")),
    Silent("clone3", Service.SPAWN, ("how", "count")),
)
"""Calls that racecheck answers or has to notice, and that are no steps."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _refuse(number: int, text: str) -> dict[str, int]:
    return dict.fromkeys(text.split(), number)


REFUSED: dict[str, int] = {
    # The kernel carries these out on its own, past any filter. Programs know how to do
    # without them, since older kernels and containers lack them too.
    **_refuse(errno.ENOSYS, "io_uring_setup io_uring_enter io_uring_register"),
    **_refuse(errno.ENOSYS, "io_setup io_submit io_getevents io_pgetevents"),
    **_refuse(errno.ENOSYS, "io_cancel io_destroy"),
    # Memory that a tracer cannot read either.
    **_refuse(errno.ENOSYS, "memfd_secret"),
    # A filter with a supervisor of its own would answer before racecheck's. What stays
    # is prctl(2), whose filters can only take calls away.
    **_refuse(errno.ENOSYS, "seccomp"),
    # A library as a program's start; gone from most kernels.
    **_refuse(errno.ENOSYS, "uselib nfsservctl"),
    # What paths mean, for one process or for all.
    **_refuse(errno.EPERM, "mount umount2 move_mount mount_setattr open_tree"),
    **_refuse(errno.EPERM, "open_tree_attr fsopen fsconfig fsmount fspick"),
    **_refuse(errno.EPERM, "chroot pivot_root unshare setns"),
    # Files by other ways than a path or a descriptor, and calls held up by others.
    **_refuse(errno.EPERM, "name_to_handle_at open_by_handle_at"),
    **_refuse(errno.EPERM, "fanotify_init fanotify_mark userfaultfd"),
    # What others find as well, and what lasts.
    **_refuse(errno.EPERM, "add_key request_key keyctl"),
    # Other processes, and the kernel itself.
    **_refuse(errno.EPERM, "ptrace process_vm_writev bpf syslog"),
    **_refuse(errno.EPERM, "swapon swapoff acct quotactl quotactl_fd reboot"),
    **_refuse(errno.EPERM, "init_module finit_module delete_module"),
    **_refuse(errno.EPERM, "kexec_load kexec_file_load iopl ioperm vhangup"),
    **_refuse(errno.EPERM, "sethostname setdomainname settimeofday clock_settime"),
    **_refuse(errno.EPERM, "adjtimex clock_adjtime"),
}
"""Calls that fail, with which error; they make the verdict unknown."""

CARRIERS = _words("sendmsg sendmmsg recvmsg recvmmsg pidfd_getfd")
"""Calls that can hand a descriptor to another process."""

WATCHERS = _words("inotify_init inotify_init1 inotify_add_watch inotify_rm_watch")
"""Calls that have the kernel report what happens to files."""

WAITS = _words(
    """
    wait4 waitid futex poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2
    nanosleep clock_nanosleep rt_sigtimedwait rt_sigsuspend pause
    accept accept4 recvfrom sendto
    """
)
"""Calls that wait for another task or for time to pass, and that racecheck waits in."""

SLEEPS = _words(
    """
    futex_wait futex_waitv epoll_wait_old restart_syscall
    """
)
"""Calls that wait in the kernel; who is found asleep there is woken to see why."""

CLOCKS = _words(
    """
    clock_getres timerfd_create sysinfo getrusage
    """
)
"""Calls about clocks that show no time of day, or none that programs go by."""

UNIMPLEMENTED = _words(
    """
    _sysctl create_module get_kernel_syms query_module getpmsg putpmsg afs_syscall
    tuxcall security epoll_ctl_old vserver lookup_dcookie set_thread_area
    get_thread_area
    """
)
"""Calls that have a number, and that all kernels of today answer with ENOSYS."""

HARMLESS = (
    SLEEPS
    | CLOCKS
    | UNIMPLEMENTED
    | _words(
        # Memory, and advice about it or about the page cache.
        """
        brk mprotect munmap mremap msync mincore madvise mlock mlock2 munlock mlockall
        munlockall remap_file_pages mbind set_mempolicy get_mempolicy
        move_pages set_mempolicy_home_node membarrier pkey_mprotect pkey_alloc pkey_free
        process_madvise process_mrelease process_vm_readv mseal map_shadow_stack
        readahead fadvise64 cachestat
        """
        # Signals, as the receiver handles them.
        """
        rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending sigaltstack signalfd
        signalfd4
        """
        # Tasks: what one is, and how it is scheduled.
        """
        sched_yield sched_get_priority_max sched_get_priority_min getcpu set_tid_address
        set_robust_list get_robust_list rseq rseq_slice_yield futex_wake futex_requeue
        arch_prctl modify_ldt personality uretprobe uprobe kcmp perf_event_open
        getrlimit setrlimit umask
        """
        # Users and what they may do.
        """
        getuid setuid getgid setgid geteuid getegid setreuid setregid getgroups
        setgroups setresuid getresuid setresgid getresgid setfsuid setfsgid capget
        capset landlock_create_ruleset landlock_add_rule
        landlock_restrict_self lsm_get_self_attr lsm_set_self_attr lsm_list_modules
        """
        # Pipes, sockets, queues and shared memory: descriptors of no file by name.
        """
        pipe pipe2 eventfd eventfd2 memfd_create epoll_create epoll_create1 epoll_ctl
        socket socketpair shutdown listen
        getsockname getpeername setsockopt getsockopt shmdt
        mq_timedsend mq_timedreceive mq_notify mq_getsetattr
        """
        # The machine.
        """
        uname sysfs ustat statmount listmount listns
        """
    )
)
"""Calls that are left alone."""


def stops(name: str) -> Condition | None:
    """Return with which arguments a call has to stop; None means always."""
    quiet = QUIET.get(name)
    return quiet and Condition(quiet.argument, quiet.values, negate=not quiet.negate)
