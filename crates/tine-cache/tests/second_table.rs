//! The bundled table against a second one. A vendor changes a price, somebody copies a row too far: two tables that were made apart
//! do not err alike.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a step that fails is a failed test")]

use std::fmt::Write;

use tine_cache::Models;

/// Monday, 23 November 2026, 02:00 UTC: the second table has the prices of peak hours.
const PEAK_MS: i64 = 1_795_399_200_000;

const SECOND: &str = include_str!("data/litellm.tsv");

/// One row of the second table.
struct Row<'a> {
    name: &'a str,
    numbers: [Option<f64>; 9],
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    SECOND.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut cells = line.split('\t');
        let name = cells.next().unwrap();
        let numbers: Vec<Option<f64>> =
            cells.map(|cell| (!["", "-"].contains(&cell)).then(|| cell.parse().unwrap())).collect();
        let Ok(numbers) = <[Option<f64>; 9]>::try_from(numbers) else { panic!("{line}") };
        Row { name, numbers }
    })
}

/// The longest prompt as the second table counts it: it has OpenAI's whole window of 400,000, of which the reply takes 128,000.
fn same_length(name: &str, own: u64, second: u64) -> bool {
    own == second || (name.starts_with("openai/") && (own, second) == (272_000, 400_000))
}

fn compare(models: &Models, row: &Row<'_>, told: &mut String) {
    let [input, read, write, long_write, output, above, tier_input, tier_output, context] =
        row.numbers;
    let name = row.name;
    let facts = models.facts(name);
    let Some(price) = facts.prices.at(PEAK_MS) else {
        writeln!(told, "{name}: no price").unwrap();
        return;
    };
    let mut check = |what: &str, own: f64, second: Option<f64>| {
        if let Some(second) = second.filter(|second| (own - second).abs() > 1e-6) {
            writeln!(told, "{name}: {what} is {own}, and {second} in the second table").unwrap();
        }
    };
    let base = price.base;
    check("input", base.input, input);
    check("read", base.read, read);
    check("write", base.write_short, write);
    check("long write", base.write_long, long_write);
    check("output", base.output, output);
    let dear = |above: f64| *price.rates_for(above as u64 + 1);
    match above {
        Some(above) => {
            check("input of a long prompt", dear(above).input, tier_input);
            check("output of a long prompt", dear(above).output, tier_output);
            check("input below that", price.rates_for(above as u64).input, input);
        }
        None => check("input of the longest prompt", dear(1e9).input, input),
    }
    let context = context.map(|context| context as u64);
    if let (Some(own), Some(second)) = (facts.context_tokens, context)
        && !same_length(name, own, second)
    {
        writeln!(told, "{name}: the longest prompt is {own}, and {second} in the second table")
            .unwrap();
    }
}

#[test]
fn prices_and_lengths_are_those_of_a_second_table() {
    let models = Models::bundled();
    let mut told = String::new();
    rows().for_each(|row| compare(&models, &row, &mut told));
    assert!(rows().count() > 150, "the table was not read");
    assert!(told.is_empty(), "{told}");
}

/// The comparison finds what it is there for.
#[test]
fn a_wrong_number_is_found() {
    let row = |price: &str| format!("[[model]]\nname = \"openai/gpt-5.1-codex-mini\"\n{price}\n");
    for (wrong, word) in [
        ("input = 1.25", "input is 1.25, and 0.25"),
        ("context_tokens = 4096", "longest prompt is 4096"),
        ("tier_above_tokens = 200000\ntier_prompt = 2.0", "input of the longest prompt"),
    ] {
        let models = Models::bundled().overlaid(&row(wrong)).unwrap();
        let mut told = String::new();
        rows().for_each(|row| compare(&models, &row, &mut told));
        let is_of_row = |line: &str| line.starts_with("openai/gpt-5.1-codex-mini: ");
        assert!(told.contains(word) && told.lines().all(is_of_row), "{told}");
    }
}
