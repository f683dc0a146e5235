//! `cargo xtask attack`: the attacks on tine's own walls, and a table of what they came to on each ground.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::{process, test, workspace};

/// The environment variable that names the file in which the tests write their rows.
const ROWS: &str = "TINE_ATTACK_ROWS";

/// Runs the attacks one after another, shows what they print, and prints the tables. `every_case` tries all cases of long groups.
pub(crate) fn run(every_case: bool) -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let rows = workspace::target()?.join("attack-rows");
    match fs::remove_file(&rows) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).context(format!("cannot remove {}", rows.display()));
        }
        Ok(()) | Err(_) => {}
    }
    // As the tests are built elsewhere, so that nothing is built twice.
    let mut command = test::judged(test::whole("test"));
    command.args(["--test", "attack", "--", "--nocapture"]).env(ROWS, &rows);
    if every_case {
        command.env("TINE_TEST_ALL", "1");
    }
    let done = process::step("attacks", &root, command);
    let told = fs::read_to_string(&rows).unwrap_or_default();
    let tables = tables(&told);
    if tables.is_empty() {
        done?;
        bail!("the attacks wrote no figures down");
    }
    print!("{tables}");
    done
}

/// The rows as one table for each ground.
fn tables(rows: &str) -> String {
    const HEAD: [&str; 6] = ["group", "attempts", "escaped", "unasked", "known", "what is known"];
    let mut grounds: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for row in rows.lines() {
        let mut cells = row.split('\t');
        if let Some(ground) = cells.next() {
            grounds.entry(ground).or_default().push(cells.collect());
        }
    }
    let mut text = String::new();
    for (ground, mut rows) in grounds {
        rows.sort();
        rows.dedup();
        rows.insert(0, HEAD.to_vec());
        let width = |at: usize| {
            rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(|at| width(at).unwrap_or_default()).collect();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "\n{ground}");
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, width))| match at {
                0 | 5 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(text, "  {}", line.trim_end());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ground_has_a_table() {
        let rows = "one\tdirect\t160\t0\t0\t0\t\ntwo\tdirect\t160\t0\t0\t28\tmodes\ntwo\tchains\tNOT RUN\t\t\t\tno kernel\n";
        let shown = tables(rows);
        let expected = [
            "",
            "one",
            "  group   attempts  escaped  unasked  known  what is known",
            "  direct       160        0        0      0",
            "",
            "two",
            "  group   attempts  escaped  unasked  known  what is known",
            "  chains   NOT RUN                           no kernel",
            "  direct       160        0        0     28  modes",
            "",
        ];
        assert_eq!(shown, expected.join("\n"));
        assert_eq!(tables(""), "");
    }
}
