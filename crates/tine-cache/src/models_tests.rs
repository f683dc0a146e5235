use std::error::Error;

use tine_model::CacheScheme;

use super::*;
use crate::facts::SharesAt;

fn read(model: &str) -> Option<f64> {
    Models::bundled().price(model, 0).map(|price| price.base.read)
}

#[test]
fn the_longest_name_wins() {
    assert_eq!(read("anthropic/claude-opus-5"), Some(0.5));
    assert_eq!(read("anthropic/claude-opus-5-5-20261001"), Some(0.2));
    assert_eq!(read("anthropic/claude-fable-5-1"), Some(0.25));
    assert_eq!(read("openai/gpt-5.6"), Some(0.4));
    assert_eq!(read("openai-compat/llama"), None);
}

#[test]
fn a_price_that_nobody_found_is_not_that_of_a_shorter_name() {
    assert_eq!(read("anthropic/claude-fable-5-2"), None);
    assert_eq!(Models::bundled().facts("anthropic/claude-fable-5-2").min_tokens, 512);
}

#[test]
fn the_simulator_is_priced_as_a_model_that_is_named() {
    let models = Models::bundled();
    let check = |model: &str, like: &str| {
        assert_eq!(models.priced_as(model), Some(like), "{model}");
        let peak_ms = at(NOVEMBER_30_2026, 2);
        assert_eq!(models.price(model, peak_ms), models.price(like, peak_ms), "{model}");
        assert_eq!(models.facts(model).scheme, models.facts(like).scheme, "{model}");
        assert_eq!(models.facts(model).min_tokens, models.facts(like).min_tokens, "{model}");
    };
    check("sim/demo", "anthropic/claude-opus-5-5");
    check("sim/dir@home/a.toml", "anthropic/claude-opus-5-5");
    check("sim/@gemini", "anthropic/claude-opus-5-5");
    check("sim/demo@openai", "openai/gpt-6.1-sol");
    check("sim/demo@openai-chat", "openai-chat/gpt-6.1-sol");
    check("sim/demo@openai-compat", "openai/gpt-5.4");
    check("sim/demo@gemini", "gemini/gemini-3.8-flash");
    check("sim/demo@deepseek", "deepseek/deepseek-v4-flash");
    check("sim/demo@minimax", "minimax/MiniMax-M2.5");
    assert_eq!(models.priced_as("anthropic/claude-opus-5-5"), None);
}

#[test]
fn chat_has_the_prices_of_responses_and_less_of_its_cache() {
    let models = Models::bundled();
    let (responses, chat) =
        (models.facts("openai/gpt-6-sol"), models.facts("openai-chat/gpt-6-sol"));
    assert_eq!(chat.prices, responses.prices);
    assert_eq!((chat.scheme, chat.short_ms), (CacheScheme::Breakpoints, 30 * 60_000));
    assert_eq!((responses.long_ms, chat.long_ms), (Some(12 * 3_600_000), None));
    assert_eq!((responses.diagnoses, chat.diagnoses), (true, false));
    assert_eq!(models.facts("openai-chat/gpt-5.4").scheme, CacheScheme::Automatic);
    assert_eq!(models.priced_as("openai-chat/gpt-6-sol"), None);
}

#[test]
fn claude_behind_a_gateway_has_anthropics_rules_and_prices() {
    let models = Models::bundled();
    let check = |gateway: &str, own: &str| {
        let (gateway, own) = (models.facts(gateway), models.facts(own));
        assert_eq!(gateway.prices, own.prices);
        assert_eq!(gateway.scheme, CacheScheme::Marks);
        assert_eq!((gateway.min_tokens, gateway.step_tokens), (own.min_tokens, 1));
        assert_eq!((gateway.long_ms, gateway.lookback_blocks), (own.long_ms, own.lookback_blocks));
        assert_eq!(gateway.context_tokens, own.context_tokens);
        assert!(!gateway.diagnoses && !gateway.caches_output && !gateway.reliable);
        assert!(own.prices.at(0).is_some());
    };
    check("openai-compat/anthropic/claude-opus-5.5", "anthropic/claude-opus-5-5");
    check("openai-compat/claude-haiku-4-5", "anthropic/claude-haiku-4-5");
    check("openai-compat/us.anthropic.claude-sonnet-4-6-v1:0", "anthropic/claude-sonnet-4-6");
    let own = "[[model]]\nname = \"openai-compat/*claude*\"\nmin_tokens = 7\n";
    let models = Models::bundled().overlaid(own).unwrap();
    assert_eq!(models.facts("openai-compat/claude-opus-5-5").min_tokens, 7);
}

#[test]
fn models_that_refuse_a_thinking_budget_are_known() {
    let adaptive = |model: &str| Models::bundled().facts(model).thinks_adaptively;
    for model in ["claude-opus-4-7", "claude-opus-5-5", "claude-sonnet-5", "claude-fable-5-2"] {
        assert!(adaptive(&format!("anthropic/{model}")), "{model}");
    }
    for model in ["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"] {
        assert!(!adaptive(&format!("anthropic/{model}")), "{model}");
    }
}

#[test]
fn an_unknown_model_has_the_rules_of_its_provider_and_no_price() {
    let models = Models::bundled();
    let facts = |provider: &str| models.facts(&format!("{provider}/nobody-knows"));
    for provider in Provider::ALL.into_iter().filter(|provider| *provider != Provider::Sim) {
        assert_eq!(facts(provider.as_str()).prices.at(0), None);
    }
    assert_eq!(facts("anthropic").scheme, CacheScheme::Marks);
    assert_eq!(facts("anthropic").lookback_blocks, Some(20));
    assert_eq!(facts("openai").scheme, CacheScheme::Breakpoints);
    assert_eq!(facts("openai").key_requests_per_minute, Some(15));
    assert_eq!(facts("gemini").shares_at, SharesAt::End);
    assert!(!facts("gemini").reliable);
    assert!(facts("deepseek").whole_requests && facts("deepseek").caches_output);
    assert_eq!(facts("minimax").scheme, CacheScheme::Marks);
    for nonsense in ["", "/", "nobody", "acme/x", "*"] {
        assert_eq!(models.facts(nonsense).scheme, CacheScheme::Automatic, "{nonsense}");
    }
}

/// A prompt of this many tokens is at the last place of the lower tier; the factors are those of the prompt and the output.
#[test]
fn long_prompts_have_their_own_tier() {
    let check = |model: &str, above: u64, prompt: f64, output: f64| {
        let price = Models::bundled().price(model, 0).unwrap();
        let (low, high) = (price.rates_for(above), price.rates_for(above + 1));
        assert_eq!(low, &price.base, "{model}");
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{model}: {a} {b}");
        close(high.input, low.input * prompt);
        close(high.read, low.read * prompt);
        close(high.write_long, low.write_long * prompt);
        close(high.output, low.output * output);
    };
    check("anthropic/claude-haiku-5-5", 100_000, 5.0, 5.0);
    check("openai/gpt-6.1-sol", 272_000, 2.0, 1.5);
    check("gemini/gemini-3.1-pro-preview", 200_000, 2.0, 1.5);
    check("openai-compat/grok-4.7", 200_000, 2.0, 2.0);
    check("minimax/MiniMax-M3", 512_000, 2.0, 2.0);
    let opus = Models::bundled().price("anthropic/claude-opus-5-5", 0).unwrap();
    assert_eq!(opus.tier, None);
}

#[test]
fn a_file_of_the_user_wins_and_leaves_the_rest() {
    let text = "[[model]]\nname = \"anthropic/claude-opus-5-5*\"\ninput = 3\n\
                [[model]]\nname = \"openai-compat/mine\"\ninput = 0\noutput = 0.5\nmin_tokens = 32\n";
    let models = Models::bundled().overlaid(text).unwrap();
    let opus = models.price("anthropic/claude-opus-5-5", 0).unwrap().base;
    assert_eq!((opus.input, opus.read, opus.output), (3.0, 0.2, 20.0));
    let mine = models.facts("openai-compat/mine");
    let rates = mine.prices.at(0).unwrap().base;
    assert_eq!((rates.input, rates.write_short, rates.read, mine.min_tokens), (0.0, 0.0, 0.0, 32));
    assert!(mine.caches_output, "the provider's rules are still there");
    // What stands in for the simulator is changed with it.
    assert_eq!(models.price("sim/demo", 0).unwrap().base.input, 3.0);
    assert_eq!(models.date(), Models::bundled().date());
    let own = "[[model]]\nname = \"sim/*\"\ninput = 0\noutput = 0\n";
    assert_eq!(Models::bundled().overlaid(own).unwrap().priced_as("sim/demo"), None);
}

fn told(error: &dyn Error) -> String {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    // One line: snapshots of files that quote files are hard to read.
    format!("{error}{source}").trim_end().replace('\n', " / ")
}

#[test]
fn a_broken_file_names_line_and_column_and_the_bundled_one_stays_usable() {
    let models = Models::bundled();
    let broken = |text: &str| told(&models.clone().overlaid(text).unwrap_err());
    insta::assert_snapshot!(broken("[[model]]\nname = \"a/b\"\ninput = cheap\n"), @"not a table of models: TOML parse error at line 3, column 9 /   | / 3 | input = cheap /   |         ^^^^^ / string values must be quoted, expected literal string");
    insta::assert_snapshot!(broken("[[model]]\nname = \"a/b\"\noutput = 1.0\ninput = -3.0\n"), @"not a table of models: TOML parse error at line 4, column 9 /   | / 4 | input = -3.0 /   |         ^^^^ / -3 is not between 0 and 1000000");
    insta::assert_snapshot!(broken("[[model]]\nname = \"a/b\"\nscheme = \"magic\"\n"), @r#"not a table of models: TOML parse error at line 3, column 10 /   | / 3 | scheme = "magic" /   |          ^^^^^^^ / unknown variant `magic`, expected one of `marks`, `breakpoints`, `automatic`"#);
    let unknown = broken("[[model]]\nname = \"a/b\"\ncolour = 1\n");
    assert!(unknown.contains("at line 3, column 1 ") && unknown.contains("`colour`"), "{unknown}");
    assert_eq!(models.price("sim/demo", 0), Models::bundled().price("sim/demo", 0));
}

#[test]
fn rows_that_make_no_sense_are_named() {
    let refused = |text: &str| told(&Models::bundled().overlaid(text).unwrap_err());
    let half = "[[model]]\nname = \"acme/b\"\ninput = 1.0\n";
    insta::assert_snapshot!(refused(half), @"the prices of `acme/b` are incomplete: `input` and `output` are needed");
    let chain = "[[model]]\nname = \"acme/b\"\nlike = \"sim/demo\"\n";
    insta::assert_snapshot!(refused(chain), @"`acme/b` is like `sim/demo`, which is itself like another model");
    let nobody = "[[model]]\nname = \"acme/b\"\nlike = \"anthropic/opus\"\n";
    insta::assert_snapshot!(refused(nobody), @"`acme/b` is like `anthropic/opus`, which is not known");
}

#[test]
fn absurd_numbers_are_refused_and_never_panic() {
    for value in ["nan", "inf", "-0.1", "1e300", "\"1\"", "9223372036854775807"] {
        let text = format!("[[model]]\nname = \"a/b\"\ninput = {value}\noutput = 1\n");
        assert!(Models::bundled().overlaid(&text).is_err(), "{value}");
    }
    let text = "[[model]]\nname = \"a/b\"\nstep_tokens = 0\nshort_minutes = 4294967295\n";
    let facts = Models::bundled().overlaid(text).unwrap().facts("a/b");
    assert_eq!((facts.step_tokens, facts.short_ms), (1, 4_294_967_295 * 60_000));
}

#[test]
fn stars_stand_for_any_text() {
    let check = |pattern: &str, name: &str, expected: bool| {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    };
    check("a/b*", "a/b", true);
    check("a/b*", "a/c", false);
    check("a/*@x", "a/b@x", true);
    check("a/*@x", "a/b@xy", false);
    check("a/*b*c", "a/1b2c", true);
    check("a/*b*c", "a/1c2b", false);
    check("*ab", "ab", true);
    check("ab*ba", "aba", false);
    check("a", "ab", false);
}

#[test]
fn what_serves_a_model_has_rules_of_its_own() {
    use tine_model::{Engine, Served};
    let models = Models::bundled();
    let of = |model: &str, engine, slots, window_tokens| {
        models.facts_served(model, Some(&Served { engine, slots, window_tokens }))
    };
    let llama = of("openai-compat/m", Some(Engine::LlamaServer), Some(4), Some(8_192));
    assert_eq!((llama.slots, llama.context_tokens), (Some(4), Some(8_192)));
    assert_eq!((llama.shares_at, llama.step_tokens), (SharesAt::End, 1));
    let silent = of("openai-compat/m", Some(Engine::LlamaServer), None, None);
    assert_eq!(silent.slots, Some(1));
    assert_eq!(of("openai-compat/m", Some(Engine::Ollama), None, None).slots, Some(1));
    for engine in [Engine::Vllm, Engine::Sglang] {
        let shared = of("openai-compat/m", Some(engine), Some(4), None);
        assert_eq!((shared.slots, shared.shares_at), (None, SharesAt::FirstEvent), "{engine:?}");
    }
    // The engine's rules come before those of the vendor that has a model of this name; its prices stay.
    let named = of("openai-compat/kimi-k3", Some(Engine::LlamaServer), Some(2), None);
    assert_eq!((named.step_tokens, named.slots), (1, Some(2)));
    assert_eq!(models.facts_served("openai-compat/m", None), models.facts("openai-compat/m"));
    let own = models.overlaid("[[model]]\nname = \"llama-server/*\"\nslots = 0\n").unwrap();
    let served = Served { engine: Some(Engine::LlamaServer), ..Served::default() };
    assert_eq!(own.facts_served("openai-compat/m", Some(&served)).slots, None);
}

/// Milliseconds at an hour of a day in UTC, which is told as days since the Unix epoch.
fn at(day: i64, hour: i64) -> i64 {
    (day * 24 + hour) * 3_600_000
}

const NOVEMBER_30_2026: i64 = 20_787;

#[test]
fn a_request_has_the_price_of_its_own_day() {
    let read = |at_ms| Models::bundled().price("gemini/gemini-4-argon", at_ms).unwrap().base.read;
    assert_eq!(read(at(NOVEMBER_30_2026 + 1, 0) - 1), 0.1);
    assert_eq!(read(at(NOVEMBER_30_2026 + 1, 0)), 0.2);
    assert_eq!((read(i64::MIN), read(0), read(i64::MAX)), (0.1, 0.1, 0.2));
}

#[test]
fn peak_hours_are_those_of_working_days() {
    let models = Models::bundled();
    let output = |model: &str, at_ms| models.price(model, at_ms).unwrap().base.output;
    // That day was a Monday.
    let of_day = |day| {
        let hours = (0..24).filter(|hour| output("deepseek/deepseek-v4-pro", at(day, *hour)) > 2.0);
        hours.collect::<Vec<_>>()
    };
    for day in NOVEMBER_30_2026..NOVEMBER_30_2026 + 5 {
        assert_eq!(of_day(day), [1, 2, 3, 6, 7, 8, 9]);
    }
    assert_eq!([of_day(NOVEMBER_30_2026 - 1), of_day(NOVEMBER_30_2026 - 2)], [[0; 0]; 2]);
    assert_eq!(of_day(-3), [1, 2, 3, 6, 7, 8, 9], "Monday, 29 December 1969");
    // The simulator costs the same at all hours.
    let hours = (0..24 * 7).map(|hour| output("sim/demo@deepseek", at(0, hour)));
    assert!(hours.into_iter().all(|output| output == 1.2));
}

#[test]
fn a_file_of_the_user_has_the_last_word_at_all_times() {
    let argon = |text: &str, day| {
        let own = format!("[[model]]\nname = \"gemini/gemini-4-argon*\"\n{text}");
        let models = Models::bundled().overlaid(&own).unwrap();
        let rates = models.price("gemini/gemini-4-argon", at(day, 0)).unwrap().base;
        (rates.input, rates.read, rates.output)
    };
    let (before, after) = (NOVEMBER_30_2026, NOVEMBER_30_2026 + 1);
    let discount = "input = 1.0\n";
    assert_eq!(argon(discount, before), (1.0, 0.1, 10.0));
    assert_eq!(argon(discount, after), (1.0, 0.2, 20.0));
    let own = "input = 5\noutput = 6\n[[model.price]]\nuntil = 2026-11-30\nread = 1\n\
               [[model.price]]\nfrom = 2026-11-30\nread = 2\noutput = 7\n";
    assert_eq!(argon(own, before - 1), (5.0, 1.0, 6.0));
    assert_eq!(argon(own, before), (5.0, 2.0, 7.0));
}

#[test]
fn prices_that_overlap_or_leave_a_gap_are_refused() {
    let refused = |times: [&str; 2]| {
        let rows = times.map(|time| format!("[[model.price]]\n{time}\ninput = 1\noutput = 1\n"));
        let text = format!("[[model]]\nname = \"acme/b\"\n{}", rows.concat());
        told(&Models::bundled().overlaid(&text).unwrap_err())
    };
    insta::assert_snapshot!(refused(["until = 2026-12-01", "from = 2026-12-02"]), @"the prices of `acme/b` have a gap at Mon 00:00 UTC from 2026-12-01 on");
    insta::assert_snapshot!(refused(["until = 2026-12-02", "from = 2026-12-01"]), @"the prices of `acme/b` overlap at Mon 00:00 UTC from 2026-12-01 on");
    insta::assert_snapshot!(refused(["until = 2026-12-02", "until = 2026-12-01"]), @"the prices of `acme/b` overlap at Mon 00:00 UTC");
    insta::assert_snapshot!(refused(["from = 2026-12-01", "from = 2026-12-02\nuntil = 2026-12-01"]), @"the prices of `acme/b` end before they begin, on 2026-12-02");
    insta::assert_snapshot!(refused(["hours = [\"Mon-Fri 01:00-04:30\"]", "hours = [\"Mon-Fri 00:00-01:00\", \"Sat-Sun 00:00-24:00\"]"]), @"the prices of `acme/b` have a gap at Mon 04:30 UTC");
    insta::assert_snapshot!(refused(["hours = [\"00:00-13:00\"]", "hours = [\"12:00-24:00\"]"]), @"the prices of `acme/b` overlap at Mon 12:00 UTC");
    insta::assert_snapshot!(refused(["from = 2026-12-01", ""]), @"the prices of `acme/b` overlap at Mon 00:00 UTC from 2026-12-01 on");
    for wrong in ["from = \"2026-12-01\"", "from = 2026-13-01", "from = 2026-12-01T00:00:00Z"] {
        assert!(refused([wrong, "until = 2026-12-01"]).contains("not a table"), "{wrong}");
    }
    for wrong in
        ["1:00-2:00", "01:00-25:00", "02:00-01:00", "Fri-Mon 01:00-02:00", "Mo 01:00-02:00"]
    {
        let told = refused([&format!("hours = [\"{wrong}\"]"), ""]);
        assert!(told.contains("hours are written as `Mon-Fri 01:00-04:00`"), "{told}");
    }
    let half = "[[model]]\nname = \"acme/b\"\ninput = 1.0\n[[model.price]]\n";
    let half = told(&Models::bundled().overlaid(half).unwrap_err());
    insta::assert_snapshot!(half, @"the prices of `acme/b` are incomplete: `input` and `output` are needed");
}

#[test]
fn a_name_without_its_provider_is_understood_where_it_means_one_model() {
    let own = "[[model]]\nname = \"openai-compat/deepseek-chat\"\n";
    let models = Models::bundled().overlaid(own).unwrap();
    let named = |text: &str| match models.named(text) {
        Named::Model(model) => model.to_string(),
        Named::Other(names) => format!("one of {names:?}"),
    };
    assert_eq!(named("claude-sonnet-4-5-20260101"), "anthropic/claude-sonnet-4-5-20260101");
    assert_eq!(named("gpt-6.1-sol"), "openai/gpt-6.1-sol");
    assert_eq!(named("MiniMax-M3"), "minimax/MiniMax-M3");
    let two = r#"one of ["deepseek/deepseek-chat", "openai-compat/deepseek-chat"]"#;
    assert_eq!(named("deepseek-chat"), two);
    assert_eq!(
        named("haiku"),
        r#"one of ["anthropic/claude-haiku-5-5", "anthropic/claude-haiku-4-5"]"#
    );
    assert_eq!((named("nothing").as_str(), named("").as_str()), ("one of []", "one of []"));
}
