"""The numbers of the system calls we know by name, for the two processors we know, and what each call may not do.

Tables, and whether one is ours. May import: nothing of ours.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Machine = Literal["x86_64", "aarch64"]


class Processor(Struct, frozen=True):
    """How one kind of processor names itself to a filter, and its numbers by name."""

    arch: int
    numbers: Mapping[str, int]


_SHARED = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "fchmodat2": 452,
    "open_tree_attr": 467,
}
"""From 424 on, all processors number new calls alike."""

PROCESSORS: dict[str, Processor] = {
    "x86_64": Processor(
        0xC000003E,
        {
            **_SHARED,
            "open": 2,
            "ioctl": 16,
            "socket": 41,
            "socketpair": 53,
            "clone": 56,
            "creat": 85,
            "chmod": 90,
            "fchmod": 91,
            "ptrace": 101,
            "syslog": 103,
            "mknod": 133,
            "uselib": 134,
            "vhangup": 153,
            "setpriority": 141,
            "sched_setparam": 142,
            "sched_setscheduler": 144,
            "modify_ldt": 154,
            "pivot_root": 155,
            "_sysctl": 156,
            "adjtimex": 159,
            "chroot": 161,
            "acct": 163,
            "settimeofday": 164,
            "mount": 165,
            "umount2": 166,
            "swapon": 167,
            "swapoff": 168,
            "reboot": 169,
            "sethostname": 170,
            "setdomainname": 171,
            "iopl": 172,
            "ioperm": 173,
            "init_module": 175,
            "delete_module": 176,
            "quotactl": 179,
            "nfsservctl": 180,
            "sched_setaffinity": 203,
            "lookup_dcookie": 212,
            "clock_settime": 227,
            "kexec_load": 246,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "ioprio_set": 251,
            "migrate_pages": 256,
            "openat": 257,
            "mknodat": 259,
            "fchmodat": 268,
            "unshare": 272,
            "move_pages": 279,
            "perf_event_open": 298,
            "prlimit64": 302,
            "fanotify_init": 300,
            "open_by_handle_at": 304,
            "clock_adjtime": 305,
            "setns": 308,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "kcmp": 312,
            "finit_module": 313,
            "sched_setattr": 314,
            "kexec_file_load": 320,
            "bpf": 321,
            "userfaultfd": 323,
        },
    ),
    "aarch64": Processor(
        0xC00000B7,
        {
            **_SHARED,
            "lookup_dcookie": 18,
            "ioctl": 29,
            "ioprio_set": 30,
            "mknodat": 33,
            "umount2": 39,
            "mount": 40,
            "pivot_root": 41,
            "nfsservctl": 42,
            "chroot": 51,
            "fchmod": 52,
            "fchmodat": 53,
            "openat": 56,
            "vhangup": 58,
            "quotactl": 60,
            "acct": 89,
            "unshare": 97,
            "kexec_load": 104,
            "init_module": 105,
            "delete_module": 106,
            "clock_settime": 112,
            "syslog": 116,
            "ptrace": 117,
            "sched_setparam": 118,
            "sched_setscheduler": 119,
            "sched_setaffinity": 122,
            "setpriority": 140,
            "reboot": 142,
            "sethostname": 161,
            "setdomainname": 162,
            "settimeofday": 170,
            "adjtimex": 171,
            "socket": 198,
            "socketpair": 199,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "clone": 220,
            "swapon": 224,
            "swapoff": 225,
            "migrate_pages": 238,
            "move_pages": 239,
            "perf_event_open": 241,
            "fanotify_init": 262,
            "prlimit64": 261,
            "open_by_handle_at": 265,
            "clock_adjtime": 266,
            "setns": 268,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "kcmp": 272,
            "finit_module": 273,
            "sched_setattr": 274,
            "bpf": 280,
            "userfaultfd": 282,
            "kexec_file_load": 294,
        },
    ),
}


def machine() -> str:
    """Whose numbers this process calls the kernel by: one of 32 bits does not go by those of the kernel it runs on."""
    return platform.machine() if sys.maxsize > 1 << 32 else "32 bits"


ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "openat2", "userfaultfd")
"""Said not to exist, so that programs take the older way, which a filter can look into."""

DENIED = (
    # looking into and steering other processes
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp"),
    *("move_pages", "migrate_pages"),
    # mounts and namespaces; `unshare` and `clone` are looked into
    *("mount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "open_tree_attr", "move_mount", "fsopen"),
    *("fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at"),
    # keys, programs for the kernel, its counters and modules
    *("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "fanotify_init", "init_module", "finit_module"),
    *("delete_module", "kexec_load", "kexec_file_load", "lookup_dcookie", "nfsservctl", "syslog", "uselib", "_sysctl"),
    # the machine itself
    *("reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname", "vhangup"),
    *("settimeofday", "adjtimex", "clock_settime", "clock_adjtime", "iopl", "ioperm", "modify_ldt"),
)
"""Refused whatever their arguments."""
