//! What a fork inherits, byte for byte.

use std::sync::Arc;

use tine_cache::Asked;
use tine_fork::message::RawJson;
use tine_fork::request::{
    Effort, HeadParts, Lifetime, Lifetimes, Provider, SystemBlock, Thinking, ToolChoice, ToolOrder,
};
use tine_fork::tool_filter::ReadOnlyFilter;
use tine_fork::{
    CacheSafeParams, CacheSafeSlot, ContextMessages, ForkError, ForkOverrides, ForkParams,
    ForkSubagent, ParentRequest, SIBLINGS_MAX, SLOT_AGENTS_MAX, Sibling,
};
use tine_model::{Block, Message, Outcome, Role};
use tine_testkit::{Answer, ScriptedModel, replies};

use crate::house::{House, every_format, model};

/// How many bytes two bodies share at their beginning.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

every_format! {
    /// Shows: the parent's messages pass through bit for bit, and so do tools and settings.
    async fn a_fork_sends_its_parents_bytes_and_then_its_own(house: House) {
        let inherited = house.inherited();
        let parents = inherited.build_request([]).body.to_vec();
        let model = model([Answer::text("ok")]);
        house.fork(house.params(&model)).await.join().await.unwrap();
        let sent = model.requests().remove(0).body;
        let built = inherited.build_request([Message::user("go")]).body.to_vec();
        // The fork also asks the provider about its cache, behind its last words.
        assert!(shared(&built, &sent) > String::from_utf8(built).unwrap().find("\"go\"").unwrap());
        // All but what closes the request, and a mark at the parent's end where the format has marks.
        let ends = String::from_utf8(parents.clone()).unwrap().find("And there?").unwrap();
        assert!(shared(&parents, &sent) > ends, "{}", String::from_utf8_lossy(&sent));
    }

    /// Shows: open tool calls pass through, and are closed by the function that the main loop uses too.
    async fn open_calls_are_closed_the_same_for_all(house: House) {
        let calls = replies::text_and_calls("Both.", [("c1", "Echo", "{}"), ("c2", "Wait", "{}")]);
        let mut request = house.request.clone();
        request.messages.push(calls);
        let inherited = CacheSafeParams::from_parent_request(&request);
        let body = |told: &str| inherited.build_request([Message::user(told)]).body.to_vec();
        let (one, two) = (body("one"), body("two"));
        let text = String::from_utf8(one.clone()).unwrap();
        assert_eq!(text.matches("This call was still open").count(), 2);
        assert!(text[shared(&one, &two)..].starts_with("one"), "siblings differ in what they are told");
    }

    /// Shows: what a fork inherits can be written and read, and makes the same bytes elsewhere; without a prompt a parent's request is
    /// handed on with its open calls.
    async fn what_is_inherited_travels(house: House) {
        let calls = replies::text_and_calls("Both.", [("c1", "Echo", "{}"), ("c2", "Wait", "{}")]);
        let mut request = house.request.clone();
        request.messages.push(calls);
        let inherited = CacheSafeParams::from_parent_request(&request);
        let text = serde_json::to_string(&inherited).unwrap();
        let read: CacheSafeParams = serde_json::from_str(&text).unwrap();
        let bodies = |params: &CacheSafeParams| {
            [vec![], vec![Message::user("go")]].map(|prompt| params.build_request(prompt).body.to_vec())
        };
        assert_eq!(bodies(&inherited), bodies(&read));
        assert_eq!(inherited.cache_key_hash(), read.cache_key_hash());
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let handed_on = String::from_utf8(bodies(&read)[0].clone()).unwrap();
        assert!(!handed_on.contains("This call was still open"), "{handed_on}");
    }

    /// Shows: a hash of the messages tells prefixes apart, and the first differing position is named.
    async fn the_first_difference_is_named(house: House) {
        let inherited = house.inherited();
        assert_eq!(inherited.prefix_hash(), house.inherited().prefix_hash());
        assert_eq!(inherited.first_difference(&house.inherited()), None);
        let mut request = house.request.clone();
        request.messages[1] = replies::text("Other words.");
        let other = CacheSafeParams::from_parent_request(&request);
        assert_ne!(inherited.prefix_hash(), other.prefix_hash());
        let differs = inherited.first_difference(&other).unwrap().to_string();
        assert!(differs.ends_with("block 1 (assistant text)"), "{differs}");
    }

    /// Shows: the reminder stands behind the prefix on every turn, and never in the system prompt.
    async fn the_reminder_is_said_on_every_turn_behind_the_prefix(house: House) {
        let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::text("ok")]);
        let overrides = ForkOverrides { critical_reminder: Some("ONLY READ".to_owned()), agent_id: Some("scout".to_owned()) };
        let params = ForkParams { overrides: Some(overrides), ..house.params(&model) };
        let result = house.fork(params).await.join().await.unwrap();
        let [first, second] = model.requests().try_into().unwrap();
        let plain = house.inherited().build_request([Message::user("go")]).body.to_vec();
        let prefix = String::from_utf8(plain.clone()).unwrap().find("And there?").unwrap();
        assert!(shared(&plain, &first.body) > prefix, "the prefix is the parent's");
        assert_eq!(first.text().matches("ONLY READ").count(), 1);
        assert!(first.text().find("ONLY READ").unwrap() < first.text().rfind("go\"").unwrap(), "the directive comes last");
        assert_eq!(second.text().matches("ONLY READ").count(), 2);
        // One request begins the next; only marks and the question about the cache differ.
        let differs = tine_wire::first_difference(first.format, &first.body, &second.body);
        assert_eq!(differs, None);
        assert_eq!(result.messages[2].blocks().last().and_then(Block::as_text), Some("ONLY READ"));
    }

    /// Shows: an overridden agent id reaches tools and events.
    async fn the_agent_id_reaches_tools(house: House) {
        let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::text("ok")]);
        let overrides = ForkOverrides { agent_id: Some("scout".to_owned()), ..ForkOverrides::default() };
        let params = ForkParams { overrides: Some(overrides), ..house.params(&model) };
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!(crate::house::results(&result.messages[2]), ["c1 false {} by scout"]);
        assert_eq!(&*result.agent, "scout");
    }

    /// Shows: siblings of one fan-out send the same bytes up to what each is told.
    async fn siblings_share_everything_up_to_the_directive(house: House) {
        let model = Arc::new(ScriptedModel::answering(|_| Answer::text("ok")));
        let shared_params = ForkParams { prompt_messages: Vec::new(), ..house.params(&model) };
        let siblings = ["alpha", "beta", "gamma"].map(Sibling::new).to_vec();
        let fan = house.forks.fan_out(shared_params, siblings, Asked::Together).await.unwrap();
        assert!(fan.forks.iter().all(tine_fork::ForkHandle::is_ended), "Sync waits for all");
        for result in fan.join().await {
            assert_eq!(result.unwrap().outcome, Outcome::Completed);
        }
        let bodies = model.requests();
        for other in &bodies[1..] {
            let at = shared(&bodies[0].body, &other.body);
            assert!(bodies[0].text()[at..].starts_with("alpha"), "{}", &bodies[0].text()[at..]);
            assert_eq!(bodies[0].prefix.first(), other.prefix.first());
        }
    }

    /// Shows: the rendered head of the parent is used as it is; equal heads are one in memory.
    async fn what_the_parent_said_later_is_inherited_when_it_is_added(house: House) {
        let mut inherited = house.inherited();
        let before = inherited.build_request([]).body.to_vec();
        inherited.fork_context_messages = inherited.fork_context_messages.and(replies::text("Here it is."));
        assert_eq!(inherited.fork_context_messages.len(), 4);
        let after = inherited.build_request([Message::user("go")]).body.to_vec();
        let end = String::from_utf8(before.clone()).unwrap().find("And there?").unwrap();
        assert!(shared(&before, &after) > end);
        assert!(String::from_utf8(after).unwrap().contains("Here it is."));
    }
}

/// A request that says everything that one can say.
fn full(house: &House) -> ParentRequest {
    let mut request = house.request.clone();
    let head = &mut request.head;
    head.system_blocks = vec![
        SystemBlock { text: "Be brief.".into(), cache: Some(Lifetime::Long) },
        SystemBlock { text: "Be kind.".into(), cache: None },
    ];
    head.cache_tools = true;
    head.tool_order = ToolOrder::AsGiven;
    head.tool_choice = ToolChoice::Tool("Echo".into());
    head.settings.thinking = Some(Thinking::Budget(2_000));
    head.settings.effort = Some(Effort::High);
    head.temperature = Some(0.25);
    head.stop_sequences = vec!["STOP".into()];
    head.extra = vec![("metadata".into(), RawJson::parse(r#"{"user_id":"u"}"#).unwrap())];
    head.cache_key = Some("lineage".into());
    head.drop_foreign_thinking = true;
    let version = ("anthropic-version".into(), "2023-06-01".into());
    request.headers = vec![("x-beta".into(), "one".into()), version];
    request.lifetimes = Lifetimes::new(Lifetime::Long, Lifetime::Short);
    request
}

every_format! {
    /// Shows: the snapshot holds every field of the parent's request: tool choice, stop sequences, thinking and headers too.
    async fn a_snapshot_holds_every_field(house: House) {
        let request = full(&house);
        let inherited = CacheSafeParams::from_parent_request(&request);
        assert_eq!(inherited.head(), request.head);
        assert_eq!(*inherited.headers, *request.headers);
        assert_eq!(inherited.lifetimes, request.lifetimes);
        let built = inherited.build_request([Message::user("go")]);
        assert_eq!(*built.headers, *request.headers);
        let body = String::from_utf8(built.body.to_vec()).unwrap();
        for said in ["Be kind.", "0.25"] {
            assert!(body.contains(said), "{said}: {body}");
        }
    }

    /// Shows: tools are sent in the order in which the parent sent them.
    async fn tools_keep_the_parents_order(house: House) {
        let order = |tool_order: ToolOrder| {
            let head = HeadParts { tool_order, ..house.request.head.clone() };
            let request = ParentRequest { head, ..house.request.clone() };
            let body = CacheSafeParams::from_parent_request(&request).build_request([]).body.to_vec();
            let body = String::from_utf8(body).unwrap();
            body.find("The tool Wait.").unwrap() < body.find("The tool Echo.").unwrap()
        };
        assert!(order(ToolOrder::AsGiven) && !order(ToolOrder::ByName));
    }

    /// Shows: the tools that the model sees are the parent's, although some are refused.
    async fn a_filter_changes_no_declaration(house: House) {
        let model = model([Answer::text("ok"), Answer::text("ok")]);
        house.fork(house.params(&model)).await.join().await.unwrap();
        let tool_filter = Arc::new(ReadOnlyFilter::new());
        house.fork(ForkParams { tool_filter, ..house.params(&model) }).await.join().await.unwrap();
        let [open, refused] = model.requests().try_into().unwrap();
        assert_eq!(open.body, refused.body);
    }

    /// Shows: what forks share cannot be changed by any of them: neither the parent nor a sibling sees what one says.
    async fn a_fork_never_changes_its_parent(house: House) {
        let inherited = house.inherited();
        let before = inherited.build_request([]).body.to_vec();
        let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::text("one"), Answer::text("two")]);
        let params = || ForkParams { cache_safe: inherited.clone(), ..house.params(&model) };
        house.fork(params()).await.join().await.unwrap();
        house.fork(params()).await.join().await.unwrap();
        assert_eq!(inherited.build_request([]).body.to_vec(), before);
        assert_eq!(inherited.fork_context_messages.len(), 3);
        let [first, _, second] = model.requests().try_into().unwrap();
        assert_eq!(tine_wire::first_difference(first.format, &first.body, &second.body), None);
    }

    /// Shows: another model is another key and another cache; a fork has no way to change it in passing.
    async fn another_model_is_another_key(house: House) {
        let mut other = house.request.clone();
        other.head.settings.model.name.push_str("-2");
        let other = CacheSafeParams::from_parent_request(&other);
        assert_ne!(other.cache_key_hash(), house.inherited().cache_key_hash());
    }
}

/// Bodies that other programs send to the provider of each model, with members that nobody here knows, up to the messages' end and
/// behind it.
const FOREIGN: [(&str, &str, &str); 5] = [
    (
        "anthropic/m",
        r#"{ "model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi","x":1.0}"#,
        r#" ],"tools":[{"name":"b","input_schema":{},"defer_loading":true},{"name":"a","input_schema":{}}],"later":{"y" : 2},"stream":true}"#,
    ),
    (
        "openai/m",
        r#"{"input":[{"role":"developer","content":"Be brief."},{"role":"user","content":"hi"},{"type":"later_item","id":"z"}"#,
        r#"],"model":"m","prompt_cache_key":"k","text":{"verbosity":"low"},"stream":true}"#,
    ),
    (
        "openai-chat/m",
        r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi","name":"me"}"#,
        r#"],"seed":7,"stream":true,"stream_options":{"include_usage":true}}"#,
    ),
    (
        "gemini/m",
        r#"{"contents":[{"parts":[{"text":"hi"}],"x":1}"#,
        r#"],"safetySettings":[{"category":"c"}]}"#,
    ),
    (
        "deepseek/m",
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}"#,
        r#"],"frequency_penalty":0.50,"stream":true}"#,
    ),
];

/// Shows: a request that another program has sent is taken over in its own bytes, in every format, and a fork's words stand where
/// its messages end.
#[tokio::test(start_paused = true)]
async fn a_foreign_request_is_taken_over_byte_for_byte() {
    for (named, before, behind) in FOREIGN {
        let body = [before, behind].concat();
        let request = ParentRequest::read_of(&named.parse().unwrap(), body.as_bytes()).unwrap();
        let house = House { request, ..House::new(named) };
        let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::text("ok")]);
        let params = house.params(&model);
        assert_eq!(params.cache_safe.first_difference(&house.inherited()), None);
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!(result.outcome, Outcome::Completed, "{named}");
        for sent in model.requests() {
            let text = sent.text();
            let mark = r#","cache_control":{"type":"ephemeral"}"#;
            assert!(text.starts_with(before) && text.ends_with(behind), "{named}: {text}");
            let said = &text[before.len()..text.len() - behind.len()];
            assert!(said.replace(mark, "").starts_with(",{"), "{named}: {said}");
        }
        // What is changed and cannot be said is refused before anything starts.
        let mut changed = house.params(&model);
        changed.cache_safe.system_prompt = "Be long.".into();
        let refused = house.forks.fork(changed).await.unwrap_err();
        assert!(refused.to_string().contains("the request was taken over with"), "{refused}");
        let mut free = house.params(&model);
        free.cache_safe.max_tokens += 1;
        let key = free.cache_safe.cache_key_hash();
        assert_eq!(
            (free.cache_safe.head().check(), key),
            (Ok(()), house.inherited().cache_key_hash())
        );
    }
}

/// Shows: a request whose settings differ in what nobody here knows is another one for the cache.
#[test]
fn what_is_not_known_of_a_request_counts_in_its_key() {
    let key = |later: u8| {
        let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[],"later":{later}}}"#);
        let request = ParentRequest::read(Provider::Anthropic, body.as_bytes()).unwrap();
        CacheSafeParams::from_parent_request(&request).cache_key_hash()
    };
    assert_ne!(key(1), key(2));
    let error = ParentRequest::read(Provider::Gemini, br#"{"contents":[]}"#).unwrap_err();
    assert_eq!(error.to_string(), "the request names no model: in this format its address does");
}

/// Shows: what the present version of Anthropic's API refuses goes out under the version that the parent's request was written for, or
/// not at all.
#[test]
fn the_version_travels_with_what_it_takes() {
    let build = |body: &str, headers: &[(&str, &str)]| {
        let mut request = ParentRequest::read(Provider::Anthropic, body.as_bytes()).unwrap();
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        request.headers = headers.iter().map(own).collect();
        let built = CacheSafeParams::from_parent_request(&request).build_request([]);
        let version: Vec<String> = built
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("anthropic-version"))
            .map(|(_, value)| value.clone())
            .collect();
        (String::from_utf8(built.body.to_vec()).unwrap(), version)
    };
    let body = |settings: &str, messages: &str| {
        format!(r#"{{"model":"claude-x","max_tokens":9{settings},"messages":[{messages}]}}"#)
    };
    let plain = r#"{"role":"user","content":"hi"}"#;
    let cited = r#"{"role":"user","content":[{"type":"text","text":"a","citations":[{"type":"char_location"}]}]}"#;
    let may_be_cited = r#"{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"citations":{"enabled":true}}]}"#;
    let document = r#"{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}}]}"#;
    let before = ["2023-06-01".to_owned()];
    for (settings, messages, said) in [
        (r#","temperature":0.5"#, plain, r#""temperature":0.5"#),
        (r#","top_p":0.9"#, plain, r#""top_p":0.9"#),
        (r#","top_k":5"#, plain, r#""top_k":5"#),
        ("", cited, r#""citations":[{"#),
        ("", document, r#""type":"document""#),
    ] {
        let (text, version) = build(&body(settings, messages), &[]);
        assert!(text.contains(said) && version == before, "{version:?} {text}");
    }
    for messages in [plain, may_be_cited] {
        assert_eq!(build(&body("", messages), &[]).1, [""; 0]);
    }
    let settings = r#","temperature":0.5,"top_p":0.9,"metadata":{"user_id":"u"}"#;
    let named = |version: &str| build(&body(settings, plain), &[("Anthropic-Version", version)]);
    let (text, version) = named("2023-06-01");
    assert!(text.contains("0.5") && text.contains("top_p") && version == before);
    let (text, version) = named("2026-10-21");
    assert_eq!(version, ["2026-10-21"]);
    assert!(!text.contains("temperature") && !text.contains("top_p") && text.contains("user_id"));
    // A fork's own wish is no part of the parent's request, and is left out where the version refuses it.
    let request = ParentRequest::read(Provider::Anthropic, body("", plain).as_bytes()).unwrap();
    let mut params = CacheSafeParams::from_parent_request(&request);
    params.temperature = Some(0.5);
    let built = params.build_request([]).body.to_vec();
    assert!(!String::from_utf8(built).unwrap().contains("temperature"));
}

/// Shows: settings that make no request are refused before anything starts.
#[tokio::test]
async fn settings_that_make_no_request_are_refused() {
    let house = House::new("anthropic/m");
    let mut params = house.params(&model([]));
    params.cache_safe.temperature = Some(f64::NAN);
    let error = house.forks.fork(params).await.unwrap_err();
    let told = "the inherited settings cannot be sent: the temperature NaN is not a finite number";
    assert_eq!(error.to_string(), told);
}

#[test]
fn a_slot_keeps_each_agents_last_request() {
    let (slot, house) = (CacheSafeSlot::new(), House::new("anthropic/m"));
    assert!(slot.read("a").is_none());
    slot.save("a", house.inherited());
    let longer = ParentRequest { messages: vec![Message::user("x")], ..house.request.clone() };
    slot.save("a", CacheSafeParams::from_parent_request(&longer));
    slot.save("b", house.inherited());
    assert_eq!(slot.read("a").unwrap().fork_context_messages.len(), 1, "the last one saved counts");
    assert_eq!(slot.clear("a").unwrap().fork_context_messages.len(), 1);
    assert!(slot.read("a").is_none() && slot.read("b").is_some());
    for number in 0..=SLOT_AGENTS_MAX {
        slot.save(number.to_string(), house.inherited());
    }
    assert!(
        slot.read("b").is_none() && slot.read("1").is_some(),
        "the first one saved is forgotten first"
    );
}

#[test]
fn inherited_messages_are_shared_and_not_copied() {
    let messages: Vec<Message> = (0..9).map(|number| Message::user(number.to_string())).collect();
    let context = ContextMessages::from(messages.clone());
    let again = context.clone();
    let same = context.to_vec().iter().zip(&again.to_vec()).all(|(a, b)| Arc::ptr_eq(a, b));
    assert!(same && !context.is_empty());
    assert!(context.to_vec().iter().map(|m| (**m).clone()).eq(messages));
    assert_eq!(context.to_vec()[0].role(), Role::User);
}

#[tokio::test]
async fn a_fan_of_none_and_of_too_many_is_refused() {
    let house = House::new("anthropic/m");
    let params = || house.params(&model([]));
    let none = house.forks.fan_out(params(), vec![], Asked::Auto).await.unwrap_err();
    assert_eq!(none.to_string(), "there are no siblings to fan out to");
    let many = vec![Sibling::new("x"); SIBLINGS_MAX + 1];
    let many = house.forks.fan_out(params(), many, Asked::Auto).await.unwrap_err();
    assert!(matches!(many, ForkError::TooMany { asked: 1_025, most: SIBLINGS_MAX }));
}

#[test]
fn a_request_of_another_program_is_handed_on_in_its_own_bytes() {
    let anthropic = r#"{"model":"claude-opus-5-5", "max_tokens":64,"stream":true,"metadata":{"user_id":"u"},"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Echo","input":{"b":1, "a":2}}]}],"tools":[{"name":"Echo","description":"d","input_schema":{"type":"object"}}]}"#;
    let chat = r#"{"model":"m","stream":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Echo","arguments":"{}"}}]}],"seed":7}"#;
    let responses = r#"{"model":"gpt-6.1-sol","stream":true,"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"Echo","arguments":"{}"}],"store":false}"#;
    for (provider, body) in [
        (Provider::Anthropic, anthropic),
        (Provider::OpenAiCompat, chat),
        (Provider::OpenAi, responses),
    ] {
        let request = ParentRequest::read(provider, body.as_bytes()).unwrap();
        let inherited = CacheSafeParams::from_parent_request(&request);
        let text = serde_json::to_string(&inherited).unwrap();
        let read: CacheSafeParams = serde_json::from_str(&text).unwrap();
        for params in [&inherited, &read] {
            let handed_on = String::from_utf8(params.build_request([]).body.to_vec()).unwrap();
            assert_eq!(handed_on, body, "{provider:?}");
        }
        let told =
            |params: &CacheSafeParams| params.build_request([Message::user("go")]).body.to_vec();
        assert_eq!(told(&inherited), told(&read));
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let read = |text: &str| serde_json::from_str::<CacheSafeParams>(text).map(drop);
    let inherited = r#"{"head":{"model":"anthropic/m","max_tokens":1,"thinking":null,"effort":null,"system":"","tools":[],"tools_as_given":false,"cache_tools":false,"tool_choice":"auto","temperature":null,"stop_sequences":[],"extra":[],"stream":true,"scheme":"marks","cache_key":null,"drop_foreign_thinking":false,"sent":null},"headers":[],"lifetimes":["short","short"],"messages":[],"sent":0,"behind":null}"#;
    read(inherited).unwrap();
    for (before, after, said) in [
        ("anthropic/m", "nobody/m", "unknown provider `nobody`"),
        ("\"marks\"", "\"crosses\"", "unknown cache scheme `crosses`"),
        ("\"sent\":0", "\"sent\":3", "more messages were sent than there are"),
        ("\"sent\":null", "\"sent\":{\"body\":\"[]\",\"headers\":[]}", "at line 1"),
        (
            "\"messages\":[]",
            "\"messages\":[{\"format\":\"morse\",\"raw\":{}}]",
            "unknown wire format `morse`",
        ),
    ] {
        let error = read(&inherited.replacen(before, after, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{after}: {error}");
    }
}
