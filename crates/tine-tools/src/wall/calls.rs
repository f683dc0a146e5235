//! Which system calls a wall refuses, and how.
//!
//! Landlock rules over files; what reaches round files is refused here: sockets, other processes, the kernel's own
//! settings, shared memory, and what changes a file's metadata. Numbers above the newest of libc's table are written out:
//! since 424 they are the same on all machines.

use super::filter::{Answer, Rule, Test};
use super::{Metadata, Sockets};

const EPERM: u16 = libc::EPERM as u16;
const EACCES: u16 = libc::EACCES as u16;
const ENOSYS: u16 = libc::ENOSYS as u16;

/// Calls that are refused whatever their arguments, in every confined run.
const REFUSED: &[i64] = &[
    // Submits any other call past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes' memory and files.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces: another view of the files than the one the wall was built for.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    467, // open_tree_attr
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Keys that the kernel holds for the user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Shared memory, semaphores and queues outlive the command and reach other processes.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // Attributes of files through a plain descriptor, as `chattr` sets them.
    469, // file_setattr
    // Where other processes' memory lies.
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls of one machine alone.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_uselib,
    libc::SYS__sysctl,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[
    294, // kexec_file_load
];

/// Calls that change the mode, owner, times or attributes of a file: Landlock does not rule over them.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_utimensat,
    452, // fchmodat2
    463, // setxattrat
    466, // removexattrat
];
#[cfg(target_arch = "x86_64")]
const METADATA_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const METADATA_HERE: &[i64] = &[];

/// What gives a socket an address, or reaches one. Without a network there is none to use them on but pairs.
const REACHING: [i64; 5] =
    [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// `ioctl`s that type into a terminal or change a file's attributes through a descriptor that only reads.
const CONTROLS: [u32; 9] = [
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
    0x541d,      // TIOCCONS
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC_SETFLAGS of 32 bits
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x4080_6685, // FS_IOC_ENABLE_VERITY
];

/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: u32 = 0x7e02_0000;

/// A socket's type without its flags.
const KIND: u32 = 0xf;

/// The rules of a wall. The first that fits a call decides.
pub(super) fn rules(sockets: Sockets, metadata: Metadata) -> Vec<Rule> {
    let plain = |calls: &[i64], answer: u16| -> Vec<Rule> {
        calls.iter().map(|call| Rule::every(*call, Answer::Fails(answer))).collect()
    };
    let mut rules = plain(REFUSED, EPERM);
    rules.extend(plain(REFUSED_HERE, EPERM));
    if metadata == Metadata::Kept {
        rules.extend(plain(METADATA, EPERM));
        rules.extend(plain(METADATA_HERE, EPERM));
    }
    rules.extend(processes());
    rules.extend(
        CONTROLS.map(|control| Rule::when(libc::SYS_ioctl, vec![Test::is(1, control)], EPERM)),
    );
    rules.extend(for_sockets(sockets));
    rules
}

fn processes() -> Vec<Rule> {
    vec![
        // Its flags are in memory, where a filter cannot look; who is told that it does not exist uses `clone`.
        Rule::every(libc::SYS_clone3, Answer::Fails(ENOSYS)),
        Rule::when(libc::SYS_clone, vec![Test::any(0, NEW_NAMESPACES)], EPERM),
        // The limits and the priority of other processes; its own a command may lower.
        Rule::when(libc::SYS_prlimit64, vec![Test::is_not(0, 0)], EPERM),
        Rule::when(libc::SYS_setpriority, vec![Test::is_not(0, 0)], EPERM),
        Rule::when(libc::SYS_setpriority, vec![Test::is_not(1, 0)], EPERM),
        Rule::when(libc::SYS_ioprio_set, vec![Test::is_not(0, 1)], EPERM),
        Rule::when(libc::SYS_ioprio_set, vec![Test::is_not(1, 0)], EPERM),
        Rule::when(libc::SYS_sched_setaffinity, vec![Test::is_not(0, 0)], EPERM),
        Rule::when(libc::SYS_sched_setscheduler, vec![Test::is_not(0, 0)], EPERM),
        Rule::when(libc::SYS_sched_setparam, vec![Test::is_not(0, 0)], EPERM),
        Rule::when(libc::SYS_sched_setattr, vec![Test::is_not(0, 0)], EPERM),
    ]
}

fn for_sockets(sockets: Sockets) -> Vec<Rule> {
    const UNIX: u32 = libc::AF_UNIX as u32;
    const STREAM: u32 = libc::SOCK_STREAM as u32;
    const DATAGRAMS: u32 = libc::SOCK_DGRAM as u32;
    const PACKETS: u32 = libc::SOCK_SEQPACKET as u32;
    let allow = |call, tests| Rule { call, tests, answer: Answer::Allowed };
    let pair =
        |kind| allow(libc::SYS_socketpair, vec![Test::is(0, UNIX), Test::masked(1, KIND, kind)]);
    // A pair of datagram sockets could be pointed at any socket of the machine; connected ones cannot.
    let mut rules = vec![pair(STREAM), pair(PACKETS)];
    match sockets {
        Sockets::OwnLoopback => {
            rules.push(pair(DATAGRAMS));
            for kind in [STREAM, DATAGRAMS, PACKETS] {
                let tests = vec![Test::is(0, UNIX), Test::masked(1, KIND, kind), Test::is(2, 0)];
                rules.push(allow(libc::SYS_socket, tests));
            }
            for family in [libc::AF_INET as u32, libc::AF_INET6 as u32] {
                for (kind, own) in [(STREAM, libc::IPPROTO_TCP), (DATAGRAMS, libc::IPPROTO_UDP)] {
                    for protocol in [0, own as u32] {
                        let kind = Test::masked(1, KIND, kind);
                        let tests = vec![Test::is(0, family), kind, Test::is(2, protocol)];
                        rules.push(allow(libc::SYS_socket, tests));
                    }
                }
            }
        }
        Sockets::Pairs => {
            rules.extend(REACHING.iter().map(|call| Rule::every(*call, Answer::Fails(EACCES))));
        }
    }
    // Where their files are not covered, not even local ones: behind them sit agents that hold keys, and services that run programs for
    // whoever asks.
    let others = [libc::SYS_socketpair, libc::SYS_socket];
    rules.extend(others.map(|call| Rule::every(call, Answer::Fails(EACCES))));
    rules
}
