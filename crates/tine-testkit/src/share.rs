//! How much of a long test runs: a part by a fixed rule, or everything where `TINE_TEST_ALL=1` is set.

use std::fmt::Debug;
use std::fs::File;
use std::io::Write as _;

/// Set to anything but `0`, it has every long test run whole.
pub const TEST_ALL: &str = "TINE_TEST_ALL";

/// The environment variable that names the file in which `cargo xtask test` collects what tests leave out.
const SHARES: &str = "TINE_TEST_SHARES";

/// One of so many is usual.
const ONE_OF: usize = 12;

/// Shares no factor with `ONE_OF`: neighbouring turns take places far apart, even and odd.
const STRIDE: usize = 5;

/// Whether everything is to be tested.
pub fn tests_all() -> bool {
    std::env::var_os(TEST_ALL).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Every twelfth of `all`, with the first and the last; all of them where everything is tested. Tests of the same steps take
/// turns from 0 on, each with other places; twelve together leave out none.
pub fn share<T: Debug>(what: &str, turn: usize, all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.into_iter().collect();
    if tests_all() {
        return all;
    }
    let count = all.len();
    let mut at = 0..count;
    let is_taken = |at: usize| at % ONE_OF == turn * STRIDE % ONE_OF || at == 0 || at + 1 == count;
    all.retain(|_| at.next().is_some_and(is_taken));
    told(what, all.len(), count);
    all
}

/// How many cases of `what` are tried: `usual`, or `all` where everything is tested.
pub fn cases(what: &str, usual: u32, all: u32) -> u32 {
    if tests_all() {
        return all;
    }
    told(what, usual, all);
    usual
}

/// Tells the test runner, which shows it where a test fails, and `cargo xtask test`, which lists it at the end.
#[expect(clippy::print_stdout, reason = "a test says what it leaves out")]
fn told(what: &str, taken: impl Debug, all: impl Debug) {
    println!("{what}: {taken:?} of {all:?} are tried; all with {TEST_ALL}=1");
    let Some(path) = std::env::var_os(SHARES) else { return };
    let line = format!("{what}: {taken:?} of {all:?}\n");
    let listed = File::options().create(true).append(true).open(path);
    let listed = listed.and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = listed {
        println!("cannot write to the file that {SHARES} names: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_turn_takes_other_places_and_twelve_leave_out_nothing() {
        if tests_all() {
            return;
        }
        let turns: Vec<Vec<u8>> = (0..12).map(|turn| share("steps", turn, 0..20)).collect();
        assert_eq!(turns[..3], [vec![0, 12, 19], vec![0, 5, 17, 19], vec![0, 10, 19]]);
        let taken: BTreeSet<u8> = turns.into_iter().flatten().collect();
        assert_eq!(taken, (0..20).collect());
        assert_eq!(cases("cases", 4, 12), 4);
    }
}
