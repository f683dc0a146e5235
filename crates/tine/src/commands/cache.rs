//! `tine cache explain`: why the provider's cache served what it served.

use serde::Serialize;
use tine_cache::Facts;
use tine_model::Usage;
use tine_runtime::{CacheNote, ExplainedRequest, PlaceNote};

use crate::cli::CacheExplainArgs;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::json::UsageShape;
use crate::render::table::{Align, Table};
use tine_tui::age::rfc3339;
use tine_tui::figures::{grouped, money, plural, span};
use tine_tui::words::{BOLD, DIM, one_line, styled};

/// The JSON shape. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ExplainJson<'a> {
    agent: String,
    name: Option<&'a str>,
    requests: Vec<RequestJson<'a>>,
}

#[derive(Serialize)]
struct RequestJson<'a> {
    number: usize,
    started_at: String,
    model: &'a str,
    /// `ok`, `cold`, `diverged`, `settings_changed`, `race`, `expired`, `below_minimum`, `marker_misplaced`, `unreliable`,
    /// `unknown`; `null` for a request that nobody judged.
    verdict: Option<&'a str>,
    usage: Option<UsageShape>,
    cost_usd: Option<f64>,
    /// True for a request of a guest's program beside its conversation, such as for a title.
    aside: bool,
    #[serde(flatten)]
    note: Option<&'a CacheNote>,
}

pub(crate) async fn explain(context: &Context, args: CacheExplainArgs) -> Result<u8, Failure> {
    let agent = context.agent(&args.agent).await?;
    let record = context.runtime.agent(agent).await?;
    let all = context.runtime.explain_cache(agent).await?;
    let last = all.iter().rfind(|request| !request.is_aside).or(all.last());
    let chosen: Vec<&ExplainedRequest> = match (args.request, last) {
        (Some(number), _) => {
            let found = all.iter().find(|request| request.number == number);
            let hint = match all.len() {
                0 => "it has sent none yet".to_owned(),
                count => format!("it has sent {}", plural(count as u64, "request")),
            };
            vec![found.ok_or_else(|| {
                Failure::input(format!("agent {} has no request {number}", agent.short()))
                    .hint(hint)
            })?]
        }
        (None, _) if args.all || args.json => all.iter().collect(),
        (None, Some(last)) => vec![last],
        (None, None) => Vec::new(),
    };
    if args.json {
        let name = record.name.as_deref();
        let requests = chosen.into_iter().map(request_json).collect();
        output::json(&ExplainJson { agent: agent.to_string(), name, requests })?;
        return Ok(0);
    }
    if all.is_empty() {
        output::say(&format!("agent {} has sent no request yet", agent.short()));
        return Ok(0);
    }
    let now_ms = context.runtime.ports().clock.now_ms();
    let mut text = String::new();
    if args.request.is_none() && all.len() > 1 {
        text.push_str(&overview(&all));
        text.push('\n');
    }
    for (index, request) in chosen.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let facts = match request.model.parse() {
            Ok(model) => Some(context.runtime.facts(&model)),
            Err(_) => None,
        };
        text.push_str(&details(request, facts.as_ref(), now_ms));
    }
    output::write_out(&text)?;
    Ok(0)
}

fn request_json(request: &ExplainedRequest) -> RequestJson<'_> {
    RequestJson {
        number: request.number,
        started_at: rfc3339(request.started_ms),
        model: &request.model,
        verdict: request.verdict.as_deref(),
        usage: request.usage.map(UsageShape::from),
        cost_usd: request.dollars,
        aside: request.is_aside,
        note: request.note.as_ref(),
    }
}

/// One line a request.
fn overview(requests: &[ExplainedRequest]) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("REQUEST", right),
        ("VERDICT", Align::Left),
        ("EXPECTED", right),
        ("READ", right),
        ("WRITTEN", right),
        ("UNCACHED", right),
        ("COST", right),
    ]);
    for request in requests {
        let usage = request.usage.as_ref();
        table.row([
            request.number.to_string().into(),
            format!("{}{}", words(request.verdict.as_deref()), beside(request)).into(),
            request.note.as_ref().map_or("?".to_owned(), |note| grouped(note.expected)).into(),
            known(usage.and_then(|usage| usage.read)).into(),
            known(usage.and_then(written)).into(),
            known(usage.map(|usage| usage.uncached)).into(),
            request.dollars.map_or("?".to_owned(), money).into(),
        ]);
    }
    table.to_text()
}

fn details(request: &ExplainedRequest, facts: Option<&Facts>, now_ms: i64) -> String {
    let ago = span(u64::try_from(now_ms - request.started_ms).unwrap_or(0));
    let verdict = words(request.verdict.as_deref());
    let head = format!("request {}: {verdict}{}", request.number, beside(request));
    let model = one_line(&request.model);
    let when = styled(DIM, &format!("· {ago} ago · {model}"));
    let mut text = format!("{} {when}\n", styled(BOLD, &head));
    let Some(note) = &request.note else {
        text.push_str("Nothing is known of its cache: an earlier version of tine sent it.\n");
        return text;
    };
    text.push_str(&format!("{}.\n\n", sentence(&note.why)));
    let usage = request.usage.as_ref();
    text.push_str(&places(note, usage, facts));
    text.push_str(&format!(
        "\nexpected {}{} · read {} · written {} · uncached {}\n",
        if note.exact { "" } else { "about " },
        grouped(note.expected),
        known(note.read),
        known(usage.and_then(written)),
        known(usage.map(|usage| usage.uncached)),
    ));
    if let Some(slots) = facts.and_then(|facts| facts.slots) {
        let slots = match slots {
            1 => "one conversation at a time".to_owned(),
            _ => format!("{slots} slots, one conversation each; they share nothing"),
        };
        text.push_str(&format!("the server's cache: {slots}\n"));
    }
    if note.missed > 0 {
        let cost = note.missed_usd.map(|dollars| format!(" cost {}", money(dollars)));
        let cost = cost.unwrap_or_default();
        text.push_str(&format!("not read: {} tokens{cost}\n", grouped(note.missed)));
    }
    if let Some(difference) = &note.difference {
        text.push_str(&format!("first difference: {}\n", one_line(difference)));
    }
    if let Some(vendor) = &note.vendor {
        let tokens = vendor.missed_tokens.map(|count| format!(", {} tokens", grouped(count)));
        let reason = vendor.reason.as_deref().map(|reason| format!(": {}", one_line(reason)));
        text.push_str(&format!(
            "the provider says: {}{}{}\n",
            vendor.answer.replace('_', " "),
            reason.unwrap_or_default(),
            tokens.unwrap_or_default(),
        ));
    }
    for (place, reason) in &note.dropped {
        let (place, reason) = (one_line(place), one_line(reason));
        text.push_str(&format!("reasoning left out at {place}: {reason}\n"));
    }
    text
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let text = one_line(text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Segment by segment: how far each place reaches, what was known of an entry there, and what came of it.
fn places(note: &CacheNote, usage: Option<&Usage>, facts: Option<&Facts>) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("UP TO", Align::Left),
        ("MESSAGES", right),
        ("TOKENS", right),
        ("ENTRY BEFORE", Align::Left),
        ("THIS REQUEST", Align::Left),
        ("ASKED TO LIVE", Align::Left),
    ]);
    let mut before = 0;
    for place in &note.places {
        let about = if place.exact { "" } else { "~" };
        table.row([
            place.kind.clone().into(),
            place.items.to_string().into(),
            format!("{about}{}", grouped(place.tokens)).into(),
            place.state.clone().into(),
            served(place, before, note.read, usage).into(),
            lifetime(place.mark.as_deref(), facts).into(),
        ]);
        before = place.tokens;
    }
    table.to_text()
}

/// What came of the part that a place closes and that begins after so many tokens.
fn served(
    place: &PlaceNote,
    before: u64,
    read: Option<u64>,
    usage: Option<&Usage>,
) -> &'static str {
    let Some(read) = read else { return "?" };
    let written = usage.and_then(written).unwrap_or(0);
    if read > 0 && place.tokens <= read {
        "read"
    } else if written > 0 && place.mark.is_some() {
        "written"
    } else if before < read {
        "read in part"
    } else {
        "not read"
    }
}

/// How long an entry was asked to live.
fn lifetime(mark: Option<&str>, facts: Option<&Facts>) -> String {
    let ms = match (mark, facts) {
        (Some("short"), Some(facts)) => Some(facts.short_ms),
        (Some("long"), Some(facts)) => facts.long_ms,
        (mark, _) => return mark.unwrap_or("-").to_owned(),
    };
    let minutes = ms.unwrap_or(0) / 60_000;
    if minutes >= 60 && minutes % 60 == 0 {
        format!("{} h", minutes / 60)
    } else {
        format!("{minutes} min")
    }
}

/// Marks a request that is none of the conversation.
fn beside(request: &ExplainedRequest) -> &'static str {
    if request.is_aside { " (beside the conversation)" } else { "" }
}

fn words(verdict: Option<&str>) -> String {
    verdict.map_or_else(|| "not judged".to_owned(), |verdict| verdict.replace('_', " "))
}

fn written(usage: &Usage) -> Option<u64> {
    usage.write_short.or(usage.write_long).map(|_| usage.written())
}

fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), grouped)
}
