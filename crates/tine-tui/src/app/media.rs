//! Images and documents by what is known of them: their title, their kind, their size. Never what is in them.

use serde_json::Value;
use tine_model::RawJson;

use crate::words::one_line;

/// How deep a block is looked into; every provider's shape is flatter.
const DEPTH_MAX: usize = 6;

/// Longest title that is told, in characters.
const TITLE_MAX: usize = 80;

/// An image or a document in a few words: `(an image: image/png, 12 kB)`.
pub(super) fn told(what: &str, block: &RawJson) -> String {
    let block: Value = serde_json::from_str(block.as_str()).unwrap_or_default();
    let url = find(&block, &["url", "image_url", "file_data", "uri", "file_uri", "fileUri"], 0);
    let (of_url, data) = match url.and_then(|url| url.strip_prefix("data:")) {
        Some(url) => url.split_once(',').map_or((None, None), |(kind, data)| {
            (kind.split(';').next().filter(|kind| !kind.is_empty()), Some(data))
        }),
        None => (None, find(&block, &["data"], 0)),
    };
    let title = find(&block, &["title", "filename", "display_name", "displayName"], 0);
    let kind = find(&block, &["media_type", "mime_type", "mimeType"], 0).or(of_url);
    let place = url.filter(|url| !url.starts_with("data:"));
    let size = data.map(|data| size(data.trim_end_matches('=').len() * 3 / 4));
    let known = [title, kind, place].into_iter().flatten().map(short).chain(size);
    let known: Vec<String> = known.collect();
    match known.as_slice() {
        [] => format!("({what})"),
        known => format!("({what}: {})", known.join(", ")),
    }
}

/// The first text that stands under one of these names.
fn find<'a>(value: &'a Value, names: &[&str], depth: usize) -> Option<&'a str> {
    let fields = value.as_object().filter(|_| depth < DEPTH_MAX)?;
    let here = names.iter().find_map(|name| fields.get(*name)?.as_str());
    here.or_else(|| fields.values().find_map(|inner| find(inner, names, depth + 1)))
}

fn short(text: &str) -> String {
    one_line(&text.chars().take(TITLE_MAX).collect::<String>())
}

/// A number of bytes as people say it.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", (bytes + 500) / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_providers_shape_is_told_the_same_way() {
        let data = "A".repeat(16_000);
        let shapes = [
            format!(
                r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
            ),
            format!(
                r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#
            ),
            format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#),
            format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#),
            r#"{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}"#
                .to_owned(),
            format!(
                r#"{{"type":"document","title":"Plan\u001b[2J","source":{{"media_type":"application/pdf","data":"{}"}}}}"#,
                "A".repeat(2_000_000)
            ),
            r#"{"type":"image","source":{"type":"file","file_id":"f1"}}"#.to_owned(),
        ];
        let told: Vec<String> = shapes
            .iter()
            .map(|shape| told("an image", &RawJson::parse(shape.as_str()).unwrap()))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        (an image: image/png, 12 kB)
        (an image: image/png, 12 kB)
        (an image: image/png, 12 kB)
        (an image: image/png, 12 kB)
        (an image: https://example.com/a.png)
        (an image: Plan\u{1b}[2J, application/pdf, 1.5 MB)
        (an image)
        ");
    }
}
