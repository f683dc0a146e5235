//! Pictures and documents, as far as they can be judged without decoding: by the alphabet, the beginning and the length of the base64 text.

use serde_json::Value;

use crate::refusal::Refusal;

/// The largest picture that Anthropic takes, in bytes. Source: Anthropic's documentation, "Vision".
const PICTURE_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Media types that vendors take, each with the beginning of its base64 text.
const PICTURES: [(&str, &str); 4] = [
    ("image/png", "iVBORw0KGgo"),
    ("image/jpeg", "/9j/"),
    ("image/gif", "R0lGOD"),
    ("image/webp", "UklGR"),
];

const PDF: &str = "JVBERi";

/// Why data is not what it is said to be.
enum Fault {
    /// No vendor takes this kind.
    Kind,
    /// It is none, or one of another kind.
    Data,
}

fn look(media_type: &str, data: &str) -> Result<(), Fault> {
    let known = PICTURES.iter().find(|(kind, _)| *kind == media_type);
    let (_, begin) = known.ok_or(Fault::Kind)?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    if data.starts_with(begin) && data.bytes().all(is_base64) { Ok(()) } else { Err(Fault::Data) }
}

/// Refuses a block of Anthropic's that holds a picture or a document which nobody could show.
pub(crate) fn check_messages(path: &str, block: &Value) -> Result<(), Refusal> {
    let text = |key: &str| block["source"][key].as_str().unwrap_or_default();
    if text("type") != "base64" {
        return Ok(());
    }
    let (kind, media_type, data) = (block["type"].as_str(), text("media_type"), text("data"));
    match kind {
        Some("image") => match look(media_type, data) {
            Err(Fault::Kind) => Err(Refusal::invalid(format!(
                "{path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            ))),
            Err(Fault::Data) => Err(Refusal::invalid("Could not process image")),
            Ok(()) => match data.len() / 4 * 3 {
                bytes if bytes > PICTURE_BYTES_MAX => Err(Refusal::invalid(format!(
                    "{path}.image.source.base64: image exceeds 5 MB maximum: {bytes} bytes > {PICTURE_BYTES_MAX} bytes"
                ))),
                _ => Ok(()),
            },
        },
        Some("document") if media_type == "application/pdf" && !data.starts_with(PDF) => {
            Err(Refusal::invalid(format!(
                "{path}.document.source.base64.data: The PDF specified was not valid."
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses an address of OpenAI's that holds the data of no picture.
pub(crate) fn check_url(url: &str) -> Result<(), Refusal> {
    let Some((media_type, data)) =
        url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"))
    else {
        return Ok(());
    };
    look(media_type, data).map_err(|_| {
        Refusal::invalid("The image data you provided does not represent a valid image. Please check your input and try again with one of the following image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].")
            .with_code("image_parse_error")
    })
}

/// Refuses a part of Gemini's that holds the data of no picture.
pub(crate) fn check_part(part: &Value) -> Result<(), Refusal> {
    let inline = part.get("inlineData").or_else(|| part.get("inline_data"));
    let Some(inline) = inline else { return Ok(()) };
    let text = |one: &str, other: &str| {
        inline.get(one).or_else(|| inline.get(other)).and_then(Value::as_str).unwrap_or_default()
    };
    let media_type = text("mimeType", "mime_type");
    if media_type.starts_with("image/") && look(media_type, text("data", "data")).is_err() {
        Err(Refusal::invalid("Unable to process input image. Please retry with another one."))
    } else {
        Ok(())
    }
}
