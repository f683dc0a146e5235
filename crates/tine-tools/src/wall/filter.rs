//! Rules over system calls, as a program that the kernel runs before each of them.
//!
//! A program is made here rather than with the compiler of `seccompiler`, because one wall answers with several error
//! numbers, and because the second numbering of x86-64 has to be refused as a whole. Installing it is that crate's work.

use seccompiler::sock_filter;

/// How a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Allowed,
    /// With this error number.
    Fails(u16),
}

impl Answer {
    fn code(self) -> u32 {
        match self {
            Self::Allowed => ALLOW,
            Self::Fails(number) => ERRNO | u32::from(number),
        }
    }
}

/// A condition on one argument: on its lower 32 bits, which is all that the kernel looks at in the calls concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    argument: u8,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Is { mask: u32, value: u32 },
    IsNot(u32),
    Any(u32),
}

impl Test {
    pub(super) fn is(argument: u8, value: u32) -> Self {
        Self::masked(argument, u32::MAX, value)
    }

    pub(super) fn masked(argument: u8, mask: u32, value: u32) -> Self {
        Self { argument, how: How::Is { mask, value } }
    }

    pub(super) fn is_not(argument: u8, value: u32) -> Self {
        Self { argument, how: How::IsNot(value) }
    }

    /// At least one of these bits.
    pub(super) fn any(argument: u8, bits: u32) -> Self {
        Self { argument, how: How::Any(bits) }
    }
}

/// What happens to one call when all tests hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) call: i64,
    pub(super) tests: Vec<Test>,
    pub(super) answer: Answer,
}

impl Rule {
    pub(super) fn every(call: i64, answer: Answer) -> Self {
        Self { call, tests: Vec::new(), answer }
    }

    pub(super) fn when(call: i64, tests: Vec<Test>, error: u16) -> Self {
        Self { call, tests, answer: Answer::Fails(error) }
    }
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL_PROCESS: u32 = 0x8000_0000;

/// Where the kernel puts what a program may look at.
const CALL_AT: u32 = 0;
const MACHINE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// Calls that are compared one after another. The kernel runs a program once for every call there is when it is installed,
/// so a chain of all calls would cost as much as the rest of the second layer.
const CALLS_PER_GROUP: usize = 12;

/// The longest program the kernel takes.
const INSTRUCTIONS_MAX: usize = 4096;

/// How the kernel names this machine's calls; none where tine has no table of them.
const MACHINE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// From here on x86-64 numbers the same calls a second time.
const SECOND_NUMBERING: Option<u32> =
    if cfg!(target_arch = "x86_64") { Some(0x4000_0000) } else { None };

/// Whether there is a program for this machine at all.
pub(super) fn is_known_machine() -> bool {
    MACHINE.is_some()
}

/// The program. A call that no rule fits is allowed; one of another machine's numbering ends the process. `None` where this machine
/// is unknown.
pub(super) fn program(rules: &[Rule]) -> Option<Vec<sock_filter>> {
    let mut program =
        vec![load(MACHINE_AT), jump(IF_EQUAL, MACHINE?, 1, 0), give(KILL_PROCESS), load(CALL_AT)];
    if let Some(first) = SECOND_NUMBERING {
        program.push(jump(IF_AT_LEAST, first, 0, 1));
        program.push(give(ERRNO | libc::ENOSYS as u32));
    }
    let mut sorted: Vec<&Rule> = rules.iter().collect();
    // Rules for the same call keep their order.
    sorted.sort_by_key(|rule| rule.call);
    let calls: Vec<&[&Rule]> = sorted.chunk_by(|one, other| one.call == other.call).collect();
    for group in calls.chunks(CALLS_PER_GROUP) {
        let mut body = Vec::new();
        for rule in group.iter().copied().flatten() {
            append(&mut body, rule)?;
        }
        body.push(give(ALLOW));
        let last = group.last().and_then(|rules| rules.first())?.call;
        program.push(jump(IF_AT_LEAST, u32::try_from(last + 1).ok()?, 0, 1));
        program.push(instruction(JUMP, 0, 0, u32::try_from(body.len()).ok()?));
        program.append(&mut body);
    }
    program.push(give(ALLOW));
    (program.len() <= INSTRUCTIONS_MAX).then_some(program)
}

/// One rule. It begins and, where it does not fit, ends with the number of the call loaded.
fn append(program: &mut Vec<sock_filter>, rule: &Rule) -> Option<()> {
    let mut body = Vec::new();
    for (at, test) in rule.tests.iter().enumerate() {
        body.push(load(ARGUMENTS_AT + 8 * u32::from(test.argument)));
        let (mask, kind, value, fits_on_yes) = match test.how {
            How::Is { mask, value } => (mask, IF_EQUAL, value, true),
            How::IsNot(value) => (u32::MAX, IF_EQUAL, value, false),
            How::Any(bits) => (u32::MAX, IF_ANY_BIT, bits, true),
        };
        if mask != u32::MAX {
            body.push(instruction(AND, 0, 0, mask));
        }
        // Behind this jump come the other tests, the answer, and then the load for the next rule.
        let rest: usize = rule.tests[at + 1..].iter().map(|test| test.instructions()).sum();
        let away = u8::try_from(rest + 1).ok()?;
        body.push(if fits_on_yes {
            jump(kind, value, 0, away)
        } else {
            jump(kind, value, away, 0)
        });
    }
    body.push(give(rule.answer.code()));
    if !rule.tests.is_empty() {
        body.push(load(CALL_AT));
    }
    let length = u8::try_from(body.len()).ok()?;
    program.push(jump(IF_EQUAL, u32::try_from(rule.call).ok()?, 0, length));
    program.append(&mut body);
    Some(())
}

impl Test {
    fn instructions(self) -> usize {
        match self.how {
            How::Is { mask, .. } if mask != u32::MAX => 3,
            How::Is { .. } | How::IsNot(_) | How::Any(_) => 2,
        }
    }
}

fn load(at: u32) -> sock_filter {
    instruction(LOAD, 0, 0, at)
}

fn give(answer: u32) -> sock_filter {
    instruction(RETURN, 0, 0, answer)
}

fn jump(kind: u16, value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(kind, yes, no, value)
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::super::calls::rules;
    use super::super::{Metadata, Sockets};
    use super::*;

    /// Runs a program as the kernel would.
    fn answer(program: &[sock_filter], machine: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let step = &program[at];
            at += 1;
            let jumped = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
            match step.code {
                LOAD => {
                    value = match step.k {
                        CALL_AT => call,
                        MACHINE_AT => machine,
                        offset => arguments[(offset - ARGUMENTS_AT) as usize / 8],
                    }
                }
                AND => value &= step.k,
                IF_EQUAL => at += jumped(value == step.k),
                IF_AT_LEAST => at += jumped(value >= step.k),
                JUMP => at += step.k as usize,
                IF_ANY_BIT => at += jumped(value & step.k != 0),
                RETURN => return step.k,
                other => panic!("unknown instruction {other:#x}"),
            }
        }
    }

    fn check(sockets: Sockets, metadata: Metadata, call: i64, arguments: &[u32]) -> String {
        let program = program(&rules(sockets, metadata)).unwrap();
        let mut six = [0; 6];
        six[..arguments.len()].copy_from_slice(arguments);
        let code = answer(&program, MACHINE.unwrap(), u32::try_from(call).unwrap(), six);
        match code {
            ALLOW => "allowed".to_owned(),
            KILL_PROCESS => "killed".to_owned(),
            code => format!("error {}", code & 0xffff),
        }
    }

    #[test]
    fn sockets_are_refused_but_for_connected_pairs_and_those_of_an_own_network() {
        use libc::{AF_INET, AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM};
        let closed = |call, arguments: &[i32]| {
            let arguments: Vec<u32> = arguments.iter().map(|value| *value as u32).collect();
            let off = check(Sockets::Pairs, Metadata::Free, call, &arguments);
            (off, check(Sockets::OwnLoopback, Metadata::Free, call, &arguments))
        };
        let both = |off: &str, open: &str| (off.to_owned(), open.to_owned());
        let (socket, pair) = (libc::SYS_socket, libc::SYS_socketpair);
        assert_eq!(closed(socket, &[AF_INET, SOCK_STREAM]), both("error 13", "allowed"));
        assert_eq!(closed(socket, &[AF_INET, SOCK_STREAM, 6]), both("error 13", "allowed"));
        assert_eq!(closed(socket, &[AF_INET, SOCK_STREAM, 262]), both("error 13", "error 13"));
        assert_eq!(
            closed(socket, &[AF_INET, SOCK_DGRAM | SOCK_CLOEXEC]),
            both("error 13", "allowed")
        );
        assert_eq!(closed(socket, &[AF_INET, SOCK_DGRAM, 136]), both("error 13", "error 13"));
        assert_eq!(closed(socket, &[AF_INET, SOCK_RAW]), both("error 13", "error 13"));
        assert_eq!(closed(socket, &[AF_UNIX, SOCK_STREAM]), both("error 13", "allowed"));
        assert_eq!(closed(socket, &[AF_UNIX, SOCK_RAW]), both("error 13", "error 13"));
        assert_eq!(
            closed(pair, &[AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC]),
            both("allowed", "allowed")
        );
        assert_eq!(closed(pair, &[AF_UNIX, SOCK_DGRAM]), both("error 13", "allowed"));
        assert_eq!(closed(libc::SYS_connect, &[3]), both("error 13", "allowed"));
    }

    #[test]
    fn what_metadata_allows_is_the_callers_choice_and_the_rest_is_not() {
        let each = |call, arguments: &[u32]| {
            let kept = check(Sockets::OwnLoopback, Metadata::Kept, call, arguments);
            (kept, check(Sockets::OwnLoopback, Metadata::Free, call, arguments))
        };
        let both = |kept: &str, free: &str| (kept.to_owned(), free.to_owned());
        assert_eq!(each(libc::SYS_fchmodat, &[]), both("error 1", "allowed"));
        assert_eq!(each(libc::SYS_utimensat, &[]), both("error 1", "allowed"));
        for call in [libc::SYS_ptrace, libc::SYS_io_uring_setup, libc::SYS_mount] {
            assert_eq!(each(call, &[]), both("error 1", "error 1"));
        }
        assert_eq!(each(libc::SYS_clone3, &[]), both("error 38", "error 38"));
        assert_eq!(each(libc::SYS_clone, &[0x1000_0000]), both("error 1", "error 1"));
        assert_eq!(each(libc::SYS_clone, &[libc::SIGCHLD as u32]), both("allowed", "allowed"));
        assert_eq!(each(libc::SYS_prlimit64, &[0]), both("allowed", "allowed"));
        assert_eq!(each(libc::SYS_prlimit64, &[7]), both("error 1", "error 1"));
        assert_eq!(each(libc::SYS_ioctl, &[0, 0x5412]), both("error 1", "error 1"));
        assert_eq!(each(libc::SYS_ioctl, &[0, 0x5401]), both("allowed", "allowed"));
        for call in [libc::SYS_openat, libc::SYS_execve, libc::SYS_kill, libc::SYS_write] {
            assert_eq!(each(call, &[]), both("allowed", "allowed"));
        }
    }

    #[test]
    fn every_rule_is_reached_and_no_other_call_is_refused() {
        let rules = rules(Sockets::Pairs, Metadata::Kept);
        let program = program(&rules).unwrap();
        for call in 0..600 {
            let unconditional =
                rules.iter().find(|rule| rule.call == call && rule.tests.is_empty());
            let is_named = rules.iter().any(|rule| rule.call == call);
            let answer = answer(&program, MACHINE.unwrap(), call as u32, [0; 6]);
            match unconditional {
                Some(rule) if rules.iter().filter(|other| other.call == call).count() == 1 => {
                    assert_eq!(answer, rule.answer.code(), "{call}");
                }
                _ if !is_named => assert_eq!(answer, ALLOW, "{call}"),
                _ => {}
            }
        }
    }

    #[test]
    fn other_numberings_are_no_way_round() {
        let program = program(&rules(Sockets::Pairs, Metadata::Kept)).unwrap();
        let i386 = 0x4000_0003;
        assert_eq!(answer(&program, i386, 20, [0; 6]), KILL_PROCESS);
        if let Some(first) = SECOND_NUMBERING {
            let call = first + libc::SYS_socket as u32;
            assert_eq!(
                answer(&program, MACHINE.unwrap(), call, [0; 6]),
                ERRNO | libc::ENOSYS as u32
            );
        }
    }
}
