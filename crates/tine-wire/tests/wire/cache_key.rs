//! The portable key of a head's parts: pinned, and field by field.

use tine_model::{CacheScheme, Effort, Lifetime, ModelSettings, RawJson, Thinking, ToolChoice};
use tine_wire::{HeadParts, SystemBlock, ToolDeclaration, ToolOrder};

fn tool(name: &str) -> ToolDeclaration {
    let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap();
    ToolDeclaration { name: name.into(), description: "Does it.".into(), schema }
}

fn parts() -> HeadParts {
    let model = "anthropic/m".parse().unwrap();
    let settings = ModelSettings {
        model,
        max_tokens: 1000,
        thinking: Some(Thinking::Budget(2048)),
        effort: Some(Effort::Medium),
    };
    let block = SystemBlock { text: "Be kind.".into(), cache: Some(Lifetime::Short) };
    let json = |text| RawJson::parse(text).unwrap();
    HeadParts {
        system_blocks: vec![block],
        temperature: Some(1.0),
        stop_sequences: vec!["END".into()],
        extra: vec![("top_k".into(), json("5")), ("metadata".into(), json("{}"))],
        ..HeadParts::new(settings, "Be brief.".into(), vec![tool("Add"), tool("Zip")])
    }
}

/// Fails unless this change of the parts changes the key.
fn changes(change: impl FnOnce(&mut HeadParts)) {
    let mut changed = parts();
    change(&mut changed);
    assert_ne!(changed.cache_key_hash(), parts().cache_key_hash());
}

/// Fails unless the key is the same after this change of the parts.
fn keeps(change: impl FnOnce(&mut HeadParts)) {
    let mut changed = parts();
    change(&mut changed);
    assert_ne!(changed, parts(), "nothing was changed");
    assert_eq!(changed.cache_key_hash(), parts().cache_key_hash());
}

#[test]
fn the_key_is_the_same_on_every_machine() {
    assert_eq!(format!("{:016x}", parts().cache_key_hash()), "86b662b30fe9e1f2");
}

#[test]
fn the_provider_changes_it() {
    changes(|parts| parts.settings.model = "minimax/m".parse().unwrap());
}

#[test]
fn the_model_changes_it() {
    changes(|parts| parts.settings.model.name = "n".into());
}

#[test]
fn the_system_prompt_changes_it() {
    changes(|parts| parts.system.push('!'));
}

#[test]
fn the_words_of_a_system_block_change_it() {
    changes(|parts| parts.system_blocks[0].text.push('!'));
}

#[test]
fn the_mark_of_a_system_block_changes_it() {
    changes(|parts| parts.system_blocks[0].cache = None);
    changes(|parts| parts.system_blocks[0].cache = Some(Lifetime::Long));
}

#[test]
fn where_one_block_ends_changes_it() {
    let split = |first: &str, second: &str| {
        let block = |text: &str| SystemBlock { text: text.into(), cache: None };
        HeadParts { system_blocks: vec![block(first), block(second)], ..parts() }.cache_key_hash()
    };
    assert_ne!(split("ab", "c"), split("a", "bc"));
}

#[test]
fn the_name_of_a_tool_changes_it() {
    changes(|parts| parts.tools[0].name.push('2'));
}

#[test]
fn the_description_of_a_tool_changes_it() {
    changes(|parts| parts.tools[0].description.push('!'));
}

#[test]
fn the_bytes_of_a_schema_change_it() {
    changes(|parts| {
        parts.tools[0].schema = RawJson::parse(r#"{"type": "object"}"#).unwrap();
    });
}

#[test]
fn a_tool_more_or_less_changes_it() {
    changes(|parts| parts.tools.truncate(1));
}

#[test]
fn the_order_of_the_tools_does_where_they_are_sent_as_given() {
    keeps(|parts| parts.tools.reverse());
    changes(|parts| {
        parts.tool_order = ToolOrder::AsGiven;
        parts.tools.reverse();
    });
    keeps(|parts| parts.tool_order = ToolOrder::AsGiven);
}

#[test]
fn the_mark_of_the_tools_changes_it() {
    changes(|parts| parts.cache_tools = true);
}

#[test]
fn the_tool_choice_changes_it() {
    changes(|parts| parts.tool_choice = ToolChoice::None);
    let choice = |name: &str| {
        HeadParts { tool_choice: ToolChoice::Tool(name.into()), ..parts() }.cache_key_hash()
    };
    assert_ne!(choice("Add"), choice("Zip"));
}

#[test]
fn thinking_changes_it() {
    changes(|parts| parts.settings.thinking = None);
    changes(|parts| parts.settings.thinking = Some(Thinking::Adaptive));
    changes(|parts| parts.settings.thinking = Some(Thinking::Budget(2049)));
}

#[test]
fn what_becomes_of_foreign_thinking_changes_it() {
    changes(|parts| parts.drop_foreign_thinking = true);
}

#[test]
fn the_effort_changes_it() {
    changes(|parts| parts.settings.effort = Some(Effort::High));
    changes(|parts| parts.settings.effort = None);
}

#[test]
fn the_scheme_and_the_lineages_own_key_change_it() {
    changes(|parts| parts.scheme = CacheScheme::Automatic);
    changes(|parts| parts.cache_key = Some("lineage".into()));
}

#[test]
fn a_further_setting_changes_it() {
    changes(|parts| parts.extra[0].0 = "top_p".into());
    changes(|parts| parts.extra[0].1 = RawJson::parse("6").unwrap());
    changes(|parts| parts.extra.truncate(1));
}

#[test]
fn the_order_of_further_settings_does_not() {
    keeps(|parts| parts.extra.reverse());
}

#[test]
fn the_temperature_does_not() {
    keeps(|parts| parts.temperature = Some(0.5));
    keeps(|parts| parts.temperature = None);
}

#[test]
fn the_token_limit_does_not() {
    keeps(|parts| parts.settings.max_tokens = 1);
}

#[test]
fn stop_sequences_do_not() {
    keeps(|parts| parts.stop_sequences.clear());
}

#[test]
fn streaming_does_not() {
    keeps(|parts| parts.stream = false);
}
