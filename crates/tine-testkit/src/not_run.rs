//! Tests that cannot run on this machine say so, instead of passing in silence.

use std::fs::File;
use std::io::Write as _;

/// The environment variable that names the file in which `cargo xtask test` collects what was not run.
const NOT_RUN: &str = "TINE_TEST_NOT_RUN";

/// Records that `what` was not run, because the machine lacks `needs`; `why` is the detail.
///
/// `needs` is one word that `cargo xtask test --require` takes, such as `namespaces`. The run lists every line in its last table, and
/// counts them in its last line. The caller returns right after it.
#[expect(clippy::print_stdout, reason = "a test says what it could not try")]
pub fn not_run(needs: &str, what: &str, why: &str) {
    println!("NOT RUN: {what}: needs {needs}: {why}");
    let Some(path) = std::env::var_os(NOT_RUN) else { return };
    // Fields stand between tabs, records on lines.
    let line = [needs, what, why].map(|field| field.replace(['\t', '\n'], " ")).join("\t");
    let listed = File::options().create(true).append(true).open(path);
    // One write, so that the lines of several processes do not mix.
    let listed = listed.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = listed {
        println!("cannot write to the file that {NOT_RUN} names: {error}");
    }
}
