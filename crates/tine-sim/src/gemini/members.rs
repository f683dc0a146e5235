//! The members that requests of this format may have. The API refuses others, wherever they stand.
//!
//! Source: the types of `google-genai` 3.4.0.

use serde_json::{Map, Value};

use crate::refusal::Refusal;
use crate::schema::{Shape, Spelling, Step, Stranger, strangers};

/// A request to generate, or to count. The latter may hold the former.
pub(super) const REQUEST: Shape = Shape::object(
    &[
        "cachedContent",
        "continuationToken",
        "generateContentRequest",
        "labels",
        "model",
        "safetySettings",
        "serviceTier",
        "store",
    ],
    &[
        ("contents", Shape::List(&CONTENT)),
        ("generationConfig", GENERATION_CONFIG),
        ("systemInstruction", CONTENT),
        ("toolConfig", TOOL_CONFIG),
        ("tools", Shape::List(&TOOL)),
    ],
);

/// A content to store, or what is to be changed of one.
pub(super) const CACHED_CONTENT: Shape = Shape::object(
    &["displayName", "expireTime", "kmsKeyName", "model", "name", "ttl"],
    &[
        ("contents", Shape::List(&CONTENT)),
        ("systemInstruction", CONTENT),
        ("toolConfig", TOOL_CONFIG),
        ("tools", Shape::List(&TOOL)),
    ],
);

const CONTENT: Shape = Shape::object(&["role"], &[("parts", Shape::List(&PART))]);

const PART: Shape = Shape::object(
    &[
        "audioMetadata",
        "audioTranscription",
        "codeExecutionResult",
        "documentMetadata",
        "executableCode",
        "mediaProcessing",
        "mediaResolution",
        "partMetadata",
        "speechMetadata",
        "spreadsheetMetadata",
        "text",
        "thought",
        "thoughtSignature",
        "toolCall",
        "toolResponse",
        "videoMetadata",
    ],
    &[
        ("fileData", Shape::plain(&["displayName", "fileUri", "mimeType"])),
        ("functionCall", Shape::plain(&["args", "id", "name", "partialArgs", "willContinue"])),
        (
            "functionResponse",
            Shape::plain(&["id", "name", "parts", "response", "scheduling", "willContinue"]),
        ),
        ("inlineData", Shape::plain(&["data", "displayName", "mimeType"])),
    ],
);

const GENERATION_CONFIG: Shape = Shape::object(
    &[
        "audioTimestamp",
        "audioTranscriptionConfig",
        "candidateCount",
        "enableAffectiveDialog",
        "enableEnhancedCivicAnswers",
        "frequencyPenalty",
        "imageConfig",
        "logprobs",
        "maxOutputTokens",
        "mediaResolution",
        "modelSelectionConfig",
        "presencePenalty",
        "responseFormat",
        "responseJsonSchema",
        "responseLogprobs",
        "responseMimeType",
        "responseModalities",
        "responseSchema",
        "routingConfig",
        "seed",
        "speechConfig",
        "stopSequences",
        "temperature",
        "topK",
        "topP",
        "translationConfig",
    ],
    &[("thinkingConfig", Shape::plain(&["includeThoughts", "thinkingBudget", "thinkingLevel"]))],
);

const TOOL: Shape = Shape::object(
    &[
        "codeExecution",
        "computerUse",
        "enterpriseWebSearch",
        "exaAiSearch",
        "fileSearch",
        "googleMaps",
        "googleSearch",
        "googleSearchRetrieval",
        "mcpServers",
        "parallelAiSearch",
        "retrieval",
        "urlContext",
    ],
    &[("functionDeclarations", Shape::List(&FUNCTION_DECLARATION))],
);

const FUNCTION_DECLARATION: Shape = Shape::plain(&[
    "behavior",
    "description",
    "name",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
]);

const TOOL_CONFIG: Shape = Shape::object(
    &["includeServerSideToolInvocations", "retrievalConfig"],
    &[(
        "functionCallingConfig",
        Shape::plain(&["allowedFunctionNames", "mode", "streamFunctionCallArguments"]),
    )],
);

/// Refuses members that a request does not have, each in a line.
pub(super) fn check(fields: &Map<String, Value>, request: &'static Shape) -> Result<(), Refusal> {
    let found = strangers(fields, request, Spelling::Google);
    let lines: Vec<String> = found.iter().map(unknown).collect();
    if lines.is_empty() { Ok(()) } else { Err(Refusal::invalid(lines.join("\n"))) }
}

fn unknown(stranger: &Stranger<'_>) -> String {
    let before = stranger.way.iter().take(stranger.way.len().saturating_sub(1));
    let place = before.fold(String::new(), |place, step| match step {
        Step::Name(name) if place.is_empty() => snake_case(name),
        Step::Name(name) => format!("{place}.{}", snake_case(name)),
        Step::Index(index) => format!("{place}[{index}]"),
        Step::Tag(_) => place,
    });
    let at = if place.is_empty() { place } else { format!(" at '{place}'") };
    let name = stranger.name();
    format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field.")
}

/// A name as the API's own schema has it.
fn snake_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut snake, letter| {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
        snake
    })
}
