use super::*;
use crate::models::Models;

fn shape(lifetime: Lifetime, gap_tokens: u64) -> Shape {
    Shape {
        siblings: 8,
        prefix_tokens: 100_000,
        gap_tokens,
        directive_tokens: 500,
        lifetime,
        marks_tail: true,
    }
}

/// Eight siblings over 100,000 tokens with directives of 500: no cache, naive, leader first, warm, ideal.
fn row(model: &str, lifetime: Lifetime) -> String {
    // The steps and units of automatic caches are left out: the table compares prices.
    let facts = Facts { step_tokens: 1, whole_requests: false, ..Models::bundled().facts(model) };
    // A Thursday, 02:00 UTC: peak hours, where there are any.
    let price = facts.prices.at(7_200_000).unwrap();
    let forms = closed_forms(&shape(lifetime, 100_000), &facts);
    let cost = |bill: &Bill| format!("{:.3}", bill.dollars(&price));
    let bills = [&forms.uncached, &forms.naive, &forms.leader_first, &forms.warm, &forms.ideal];
    bills.map(cost).join(" ")
}

/// The published worked table of fan-out costs, from the bundled prices.
#[test]
fn the_worked_table_is_reproduced() {
    let check = |model: &str, expected: &str| {
        assert_eq!(row(model, Lifetime::Short), expected, "{model}");
    };
    check("anthropic/claude-opus-5", "4.020 5.025 1.000 0.425 0.420");
    check("anthropic/claude-opus-5-5", "3.216 4.020 0.660 0.180 0.176");
    check("anthropic/claude-sonnet-5-5", "1.608 2.010 0.330 0.090 0.088");
    check("openai/gpt-6.1-sol", "1.608 2.010 0.330 0.090 0.088");
    check("anthropic/claude-fable-5-1", "8.040 10.050 1.475 0.250 0.240");
    check("openai/gpt-6-sol", "1.608 2.010 0.400 0.170 0.168");
    check("openai/gpt-5.5", "4.020 4.020 0.870 0.420 0.420");
    check("deepseek/deepseek-v4-flash", "0.241 0.241 0.035 0.006 0.006");
    check("gemini/gemini-3.8-flash", "0.603 0.603 0.131 0.063 0.063");
    check("openai-compat/kimi-k3", "2.412 2.412 0.522 0.252 0.252");
    check("openai-compat/glm-5.3", "1.126 1.126 0.328 0.214 0.214");
    check("openai-compat/grok-4.7", "1.608 1.608 0.558 0.408 0.408");
    assert_eq!(row("anthropic/claude-opus-5-5", Lifetime::Long), "3.216 6.432 0.972 0.192 0.176");
}

#[test]
fn a_led_fan_out_over_a_gap_writes_the_gap_once() {
    let facts = Models::bundled().facts("anthropic/claude-opus-5-5");
    let forms = closed_forms(&shape(Lifetime::Short, 4_000), &facts);
    let tokens = |bill: &Bill| {
        let usage = bill.tokens();
        (usage.read.unwrap(), usage.write_short.unwrap(), usage.uncached)
    };
    assert_eq!(tokens(&forms.leader_first), (8 * 100_000 - 4_000, 4_000 + 8 * 500, 0));
    assert_eq!(tokens(&forms.together), (8 * 96_000, 8 * 4_500, 0));
    assert_eq!(tokens(&forms.naive), (0, 8 * 100_500, 0));
    assert_eq!(tokens(&forms.warm), (8 * 100_000, 8 * 500, 0));
    assert_eq!(tokens(&forms.ideal), (8 * 100_000, 0, 8 * 500));
    assert_eq!(forms.uncached.tokens().prompt(), 8 * 100_500);
}

#[test]
fn an_automatic_cache_reads_in_steps_and_reports_no_writes() {
    let facts = Models::bundled().facts("openai/gpt-5.4");
    let tokens = closed_forms(&shape(Lifetime::Short, 100_000), &facts).leader_first.tokens();
    let step = 100_000 - 100_000 % 128;
    assert_eq!(tokens.read, Some(7 * step));
    assert_eq!(tokens.uncached, 8 * 100_500 - 7 * step);
    assert_eq!((tokens.write_short, tokens.write_long), (None, None));
}

/// Siblings that share what no request ended with pay two misses before sharing begins: `2P + (N−2)rP`.
#[test]
fn where_only_whole_requests_are_kept_two_go_first() {
    let facts = Models::bundled().facts("deepseek/deepseek-v4-flash");
    let cold = closed_forms(&shape(Lifetime::Short, 100_000), &facts).leader_first.tokens();
    assert_eq!((cold.read, cold.uncached), (Some(6 * 100_000), 2 * 100_000 + 8 * 500));
    let warm = closed_forms(&shape(Lifetime::Short, 0), &facts).leader_first.tokens();
    assert_eq!(warm.read, Some(8 * 100_000));
}

#[test]
fn a_prefix_below_the_minimum_is_shared_by_nobody() {
    let facts = Models::bundled().facts("anthropic/claude-opus-5-5");
    let short = |prefix_tokens, directive_tokens| {
        let shape =
            Shape { prefix_tokens, directive_tokens, ..shape(Lifetime::Short, prefix_tokens) };
        closed_forms(&shape, &facts)
    };
    let forms = short(500, 5);
    assert_eq!(forms.leader_first.tokens().uncached, 8 * 505);
    assert_eq!(forms.naive.tokens(), forms.warm.tokens());
    // With its directive it is long enough to be written, and still shared by nobody.
    let forms = short(500, 100);
    assert_eq!(forms.leader_first.tokens().write_short, Some(8 * 600));
    assert_eq!(forms.leader_first.tokens().read, Some(0));
}

/// `Nw / (w + (N−1)r)`, and the saving of a leader `(N−1)(w−r)·p·M`: both hold for any model with a write fee.
#[test]
fn the_forms_differ_by_what_the_formulas_say() {
    for model in ["anthropic/claude-opus-5", "anthropic/claude-fable-5-1", "openai/gpt-6.1-terra"] {
        let facts = Models::bundled().facts(model);
        let price = facts.prices.at(0).unwrap();
        for (siblings, gap) in [(1, 4_000), (2, 4_000), (8, 20_000), (64, 100_000)] {
            let shape = Shape { siblings, directive_tokens: 0, ..shape(Lifetime::Short, gap) };
            let forms = closed_forms(&shape, &facts);
            let saved = forms.together.dollars(&price) - forms.leader_first.dollars(&price);
            let rates = price.base;
            let expected =
                (siblings - 1) as f64 * (rates.write_short - rates.read) * gap as f64 / 1e6;
            assert!((saved - expected).abs() < 1e-9, "{model} {siblings} {gap}");
        }
        let cold =
            closed_forms(&Shape { directive_tokens: 0, ..shape(Lifetime::Short, 100_000) }, &facts);
        let (w, r) = (price.base.write_short, price.base.read);
        let ratio = cold.naive.dollars(&price) / cold.leader_first.dollars(&price);
        assert!((ratio - 8.0 * w / (w + 7.0 * r)).abs() < 1e-9, "{model}");
    }
}

#[test]
fn absurd_sizes_saturate() {
    let facts = Models::bundled().facts("sim/x");
    let shape = Shape {
        siblings: u64::MAX,
        prefix_tokens: u64::MAX,
        gap_tokens: 5,
        directive_tokens: u64::MAX,
        ..shape(Lifetime::Long, 0)
    };
    let forms = closed_forms(&shape, &facts);
    assert!(forms.together.dollars(&facts.prices.at(0).unwrap()).is_finite());
    assert_eq!(forms.warm.tokens().read, Some(u64::MAX));
}
