//! The models file, alone and laid over the bundled one: any text; what is accepted answers for any model, also for those that it
//! never heard of.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tine_cache::Models;

static BUNDLED: LazyLock<Models> = LazyLock::new(Models::bundled);

fuzz_target!(|text: &str| {
    let mut names: Vec<&str> = text.split('"').take(50).collect();
    names.extend(["anthropic/claude-opus-5-5", "openai-chat/gpt-6.1-sol", "sim/echo@gemini", ""]);
    for models in [Models::parse(text), BUNDLED.clone().overlaid(text)].into_iter().flatten() {
        for name in &names {
            let _ = models.facts(name);
            for at_ms in [0, 1_796_083_200_000, i64::MIN, i64::MAX] {
                let _ = models.price(name, at_ms);
            }
            let _ = models.priced_as(name);
            let _ = models.source(name);
        }
    }
});
