"""Ways out of a sandbox, each tried once, from inside. Runs on its own; says as JSON how each attempt went.

Started as `python attempts.py FACTS`, where FACTS is JSON: places and ports of the outside. An attempt that is refused
raises; one that works returns what it got. Each is made so that it does no harm where it is not refused: this is run by
root too, and the day the sandbox is broken must not be the day the machine is.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import signal
import socket
import struct
import sys

FACTS = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
NUMBERS = {
    "mount": 165 if X86 else 40,
    "umount2": 166 if X86 else 39,
    "pivot_root": 155 if X86 else 41,
    "chroot": 161 if X86 else 51,
    "unshare": 272 if X86 else 97,
    "setns": 308 if X86 else 268,
    "clone": 56 if X86 else 220,
    "clone3": 435,
    "ptrace": 101 if X86 else 117,
    "process_vm_readv": 310 if X86 else 270,
    "keyctl": 250 if X86 else 219,
    "add_key": 248 if X86 else 217,
    "bpf": 321 if X86 else 280,
    "perf_event_open": 298 if X86 else 241,
    "userfaultfd": 323 if X86 else 282,
    "io_uring_setup": 425,
    "fsopen": 430,
    "open_tree": 428,
    "move_mount": 429,
    "mount_setattr": 442,
    "pidfd_getfd": 438,
    "open_by_handle_at": 304 if X86 else 265,
    "reboot": 169 if X86 else 142,
    "sethostname": 170 if X86 else 161,
}
ATTEMPTS = {}
GOT_THROUGH = {errno.EINVAL, errno.EFAULT, errno.EBADF, errno.ENOTDIR, errno.EBUSY}
"""What the kernel says when it would have done it, had it been asked properly."""


def attempt(function):
    ATTEMPTS[function.__name__] = function
    return function


def call(name, *arguments):
    result = LIBC.syscall(NUMBERS[name], *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def write(path):
    with open(path, "w") as file:
        file.write("escaped")
    return path


@attempt
def write_beside_the_workspace():
    return write(FACTS["outside"] + "/planted")


@attempt
def write_to_the_system():
    return write("/etc/agi-escaped")


@attempt
def write_over_a_link_out():
    os.symlink(FACTS["outside"] + "/planted", "link-out")
    return write("link-out")


@attempt
def write_through_proc_root():
    return write("/proc/self/root" + FACTS["outside"] + "/planted")


@attempt
def write_through_the_first_process():
    return write("/proc/1/root" + FACTS["outside"] + "/planted")


@attempt
def write_through_a_hard_link():
    os.link(FACTS["outside"] + "/theirs", "hard")
    with open("hard", "a") as file:
        file.write("escaped")
    return "hard"


@attempt
def move_out():
    write("moving")
    os.rename("moving", FACTS["outside"] + "/planted")


@attempt
def truncate_outside():
    os.truncate(FACTS["outside"] + "/theirs", 0)


@attempt
def change_a_mode_outside():
    os.chmod(FACTS["outside"] + "/theirs", 0o777)
    return "changed"


@attempt
def read_a_key_at_home():
    with open(FACTS["home"] + "/.ssh/id") as file:
        return file.read()


@attempt
def plant_a_start_up_file():
    path = FACTS["home"] + "/.bashrc"
    with open(path, "a") as file:
        file.write("escaped")
    # An empty home of one's own may be written to: what counts is who sees it, which is looked at from outside.


@attempt
def remount_the_root_writable():
    call("mount", b"none", b"/", None, ctypes.c_ulong(32), None)


@attempt
def mount_something():
    os.mkdir("place")
    call("mount", b"none", b"place", b"tmpfs", ctypes.c_ulong(0), None)


@attempt
def unmount_something():
    call("umount2", FACTS["workspace"].encode() + b"/.git/config", 2)


@attempt
def mount_by_the_new_calls():
    call("fsopen", b"tmpfs", 0)


@attempt
def open_a_tree():
    call("open_tree", -100, b"/", ctypes.c_uint(1))


@attempt
def change_a_mount():
    call("mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), ctypes.c_size_t(32))


@attempt
def change_the_root():
    in_a_child(lambda: call("chroot", b".") + 1)


@attempt
def pivot_the_root():
    call("pivot_root", b".", b".")


@attempt
def new_user_namespace():
    call("unshare", 0x10000000)


@attempt
def new_mount_namespace():
    call("unshare", 0x00020000)


@attempt
def child_in_a_new_namespace():
    pid = call("clone", ctypes.c_ulong(0x10000000 | signal.SIGCHLD), None, None, None, None)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt
def child_in_a_new_namespace_by_the_new_call():
    arguments = struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    pid = call("clone3", arguments, ctypes.c_size_t(len(arguments)))
    if pid == 0:
        os._exit(0)


@attempt
def join_another_namespace():
    call("setns", os.open(f"/proc/{FACTS['victim']}/ns/net", os.O_RDONLY), 0)


@attempt
def trace_a_process():
    call("ptrace", 16, FACTS["victim"], None, None)


@attempt
def trace_ones_parent():
    call("ptrace", 16, os.getppid(), None, None)


@attempt
def read_anothers_memory():
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    call("process_vm_readv", os.getppid(), vector, ctypes.c_ulong(1), vector, ctypes.c_ulong(1), ctypes.c_ulong(0))


@attempt
def take_a_descriptor():
    call("pidfd_getfd", os.pidfd_open(os.getppid()), 0, 0)


@attempt
def signal_a_process_outside():
    os.kill(FACTS["victim"], signal.SIGUSR1)


@attempt
def signal_everyone():
    for name in os.listdir("/proc"):
        if name.isdigit() and b"victim-of-this-test" in cmdline(name):
            os.kill(int(name), signal.SIGUSR1)
            return name
    raise ProcessLookupError


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


@attempt
def read_an_environment():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    found.append(file.read())
            except OSError:
                continue
    if not any(FACTS["secret"].encode() in text for text in found):
        raise PermissionError("no secret seen")
    return "the secret"


@attempt
def send_by_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"escaped", ("127.0.0.1", FACTS["udp"]))
    # Nobody hears it in a network of one's own: what counts is looked at from outside.


@attempt
def connect_by_tcp():
    with socket.create_connection(("127.0.0.1", FACTS["tcp"]), 2) as sock:
        return sock.recv(10).decode()


@attempt
def connect_to_a_unix_socket():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(FACTS["unix"])
        return sock.recv(10).decode()


@attempt
def connect_to_an_abstract_socket():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0" + FACTS["abstract"])
        return sock.recv(10).decode()


@attempt
def send_to_a_unix_socket_by_one_of_a_pair():
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"escaped", FACTS["messages"])


@attempt
def connect_one_of_a_pair_to_a_unix_socket():
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.connect(FACTS["messages"])


@attempt
def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)


@attempt
def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


@attempt
def socket_to_the_hypervisor():
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)


@attempt
def socket_to_the_kernels_crypto():
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)


@attempt
def audit_socket():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)


@attempt
def ring_of_io():
    call("io_uring_setup", 4, ctypes.create_string_buffer(256))


@attempt
def keyring():
    call("keyctl", 0, ctypes.c_int(-3), 1)


@attempt
def add_a_key():
    call("add_key", b"user", b"agi", b"x", ctypes.c_size_t(1), ctypes.c_int(-3))


@attempt
def program_for_the_kernel():
    call("bpf", 0, ctypes.create_string_buffer(128), 128)


@attempt
def performance_counters():
    call("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, ctypes.c_ulong(0))


@attempt
def handle_faults():
    call("userfaultfd", 1)


@attempt
def open_by_handle():
    call("open_by_handle_at", -100, ctypes.create_string_buffer(64), os.O_RDONLY)


@attempt
def rename_the_host():
    call("sethostname", b"", ctypes.c_long(-1))


@attempt
def restart_the_machine():
    call("reboot", ctypes.c_uint(0), ctypes.c_uint(0), ctypes.c_uint(0), None)


@attempt
def make_a_block_device():
    os.mknod("device", 0o060666, os.makedev(254, 0))


@attempt
def make_a_character_device():
    os.mknod("device", 0o020666, os.makedev(1, 1))


@attempt
def read_a_disk():
    for name in sorted(os.listdir("/sys/class/block")):
        with open(f"/dev/{name}", "rb") as file:
            return f"{name} {len(file.read(1))}"
    raise FileNotFoundError


@attempt
def become_root():
    if os.getuid() == 0:
        raise PermissionError("is root already, of a kind")
    try:
        os.setuid(0)
    except OSError as error:
        raise PermissionError("there is no such user here, or it may not be") from error


@attempt
def become_another():
    in_a_child(lambda: os.setuid(12345) or 1)


@attempt
def leave_a_file_that_runs_as_its_owner():
    write("suid")
    os.chmod("suid", 0o4755)


@attempt
def create_a_file_that_runs_as_its_owner():
    os.close(os.open("suid2", os.O_CREAT | os.O_WRONLY, 0o4755))
    if not os.stat("suid2").st_mode & 0o4000:
        raise PermissionError


@attempt
def change_a_device_that_is_everybodys():
    os.chmod("/dev/null", os.stat("/dev/null").st_mode & 0o7777)
    return "said anew what its mode is"


@attempt
def change_the_times_of_a_device_that_is_everybodys():
    os.utime("/dev/full", ns=(os.stat("/dev/full").st_atime_ns, os.stat("/dev/full").st_mtime_ns))
    return "said anew what they are"


@attempt
def steer_the_kernel():
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@attempt
def pull_the_lever():
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))


@attempt
def name_a_helper_of_the_kernel():
    os.close(os.open("/sys/kernel/uevent_helper", os.O_WRONLY))


@attempt
def read_the_kernels_messages():
    os.close(os.open("/dev/kmsg", os.O_RDONLY))


@attempt
def read_hashed_passwords():
    with open("/etc/shadow") as file:
        return len(file.read())


@attempt
def join_a_control_group():
    for root, _, names in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in names:
            os.close(os.open(f"{root}/cgroup.procs", os.O_WRONLY))
            return root
    raise FileNotFoundError


@attempt
def call_in_the_old_way():
    """The calls of 32 bits have numbers of their own, which the filter does not know."""
    if not X86:
        raise PermissionError("there is none")
    # mov eax, 39 (mkdir); int 0x80; ret
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return in_a_child(ctypes.CFUNCTYPE(ctypes.c_long)(address))


@attempt
def call_in_the_middle_way():
    if not X86:
        raise PermissionError("there is none")
    return in_a_child(lambda: LIBC.syscall(0x40000000 | 39))


@attempt
def say_where_the_first_process_runs():
    os.sched_setaffinity(1, os.sched_getaffinity(1))


@attempt
def say_how_much_the_first_process_gets():
    os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(os.PRIO_PROCESS, 1))


@attempt
def say_how_the_first_process_is_scheduled():
    os.sched_setscheduler(1, os.sched_getscheduler(1), os.sched_getparam(1))


@attempt
def say_how_much_all_of_ones_user_get():
    in_a_child(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 1) or 1)


def in_a_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if function() > 0 else 1)
        except OSError:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status:
        raise PermissionError(f"ended with {status}")
    return "went through"


def outcomes():
    """How each attempt went, and in the kernel's words why not."""
    found = {}
    for name, function in ATTEMPTS.items():
        try:
            got = function()
            found[name] = {"refused": False, "how": str(got)}
        except OSError as error:
            found[name] = {"refused": error.errno not in GOT_THROUGH, "how": str(error)}
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(outcomes()))
