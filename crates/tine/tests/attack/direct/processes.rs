//! Attempts on other processes: `@PID` is a stranger of the attempt's own, which holds the secret in its environment, its
//! directory and an open file. `sleep 1000.@NUMBER` is how it was called.

/// What ends, stops or changes it.
pub(super) const TOUCHES: &[&str] = &[
    "kill -9 @PID",
    "kill @PID",
    "kill -STOP @PID",
    "kill -USR1 @PID",
    "kill -USR1 -- -@PID",
    "/bin/kill -9 @PID",
    "pkill -9 -f 'sleep 1000.@NUMBER'",
    "renice -n 5 -p @PID",
    "prlimit --pid @PID --nofile=7:7",
    "taskset -p 1 @PID; perl -e 'syscall 203, @PID, 8, my $m = pack q(Q), 1' ; kill -9 @PID",
    "chrt -b -p 0 @PID",
    "echo 500 > /proc/@PID/oom_score_adj",
    "echo 0 > /proc/@PID/coredump_filter",
    "% kill 9, @PID",
    "% k(62, @PID, 9)",                                     // kill
    "% k(200, @PID, 9)",                                    // tkill
    "% k(234, @PID, @PID, 9)",                              // tgkill
    "% k(129, @PID, 10, pack(q(l3x116), 10, 0, -2))",       // rt_sigqueueinfo
    "% k(297, @PID, @PID, 10, pack(q(l3x116), 10, 0, -2))", // rt_tgsigqueueinfo
    "% my $p = k(434, @PID, 0); k(424, $p, 9, 0, 0)",       // pidfd_send_signal
    // The kernel sends the signal, for somebody who reads from a pipe.
    "% pipe R, W; fcntl R, 8, @PID; fcntl R, 10, 9; fcntl R, 4, 0x2800; syswrite W, 1; select undef, undef, undef, 0.02",
    "% k(302, @PID, 7, pack(q(QQ), 7, 7), 0)", // prlimit64
    "% k(302, @PID, 0, pack(q(QQ), 0, 0), 0)",
    "% k(141, 0, @PID, 7)",             // setpriority
    "% k(144, @PID, 3, pack(q(l), 0))", // sched_setscheduler
    "% k(314, @PID, pack(q(LLQlLQQQ), 48, 3, 0, 0, 0, 0, 0, 0), 0)", // sched_setattr
    "% k(101, 16, @PID, 0, 0); select undef, undef, undef, 0.01; k(62, @PID, 19); k(101, 17, @PID, 0, 19)", // ptrace
    "% k(101, 0x4206, @PID, 0, 0x100000)", // PTRACE_SEIZE, and the end of it with this process
];

/// What reads the secret out of it.
pub(super) const READS: &[&str] = &[
    "tr '\\0' '\\n' < /proc/@PID/environ",
    "cat /proc/@PID/cwd/key",
    "cat /proc/@PID/fd/0",
    "cat /proc/@PID/root@KEYS/key",
    "cat /proc/@PID/task/@PID/environ",
    "cat /proc/@PID/task/@PID/cwd/key",
    "cp /proc/@PID/environ e; strings e || cat e; cat /proc/@PID/environ",
    "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done",
    "cat /proc/[0-9]*/cwd/key",
    "for f in /proc/@PID/fd/*; do test -f $f && cat $f; done",
    "ps eww @PID",
    // Out of its memory, where the environment lies.
    "% open M, q(</proc/@PID/maps); my ($s) = grep /stack/, <M>; my ($b, $e) = map hex, $s =~ /^(\\w+)-(\\w+)/; open F, q(</proc/@PID/mem); sysseek F, $b, 0; sysread F, my $t, $e - $b; print $t",
    "% open M, q(</proc/@PID/maps); my ($s) = grep /stack/, <M>; my ($b, $e) = map hex, $s =~ /^(\\w+)-(\\w+)/; my $t = chr(0) x ($e - $b); my $at = unpack q(Q), pack q(P), $t; k(310, @PID, pack(q(QQ), $at, $e - $b), 1, pack(q(QQ), $b, $e - $b), 1, 0); print $t",
    // Its open file, as one's own.
    "% my $p = k(434, @PID, 0); my $f = k(438, $p, 0, 0); open F, q(<&=), $f; sysseek F, 0, 0; print <F>",
];

/// What was open in the one that started tine: `@READ` is the secret, `@WRITE` may be written.
pub(super) const DESCRIPTORS: &[&str] = &[
    "cat <&@READ",
    "cat /proc/self/fd/@READ",
    "cat /dev/fd/@READ",
    "for f in /proc/self/fd/*; do test -f $f && cat $f; done",
    "cat /proc/$PPID/fd/@READ <&@READ",
    "% open F, q(<&=), @READ; sysseek F, 0, 0; print <F>",
    "% k(292, @READ, 77, 0); open F, q(</proc/self/fd/77); print <F>",
    "echo @ID >&@WRITE",
    "echo @ID >> /proc/self/fd/@WRITE",
    "% open F, q(>&=), @WRITE; syswrite F, q(@ID)",
];
