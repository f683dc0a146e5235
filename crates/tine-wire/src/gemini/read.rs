//! Content object → role and blocks.
//!
//! A part is a block, but for one case: a text part with a thought signature that follows one without, of the same kind, is
//! the end of its text. Google asks that such parts are sent back apart, so they stay apart in the kept text.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Role};

use super::part::{Kind, Names, Part};
use crate::read::{self, ReadError};

/// A content object as it is kept.
#[derive(Deserialize)]
#[serde(expecting = "a content object")]
pub(crate) struct Content<'a> {
    pub(crate) role: Option<String>,
    /// `null` is no parts; a content without the field is a message of some other format.
    #[serde(borrow)]
    parts: &'a RawValue,
}

impl<'a> Content<'a> {
    pub(crate) fn read(json: &'a str) -> Result<Self, ReadError> {
        serde_json::from_str(json).map_err(ReadError::shape("the message"))
    }

    /// The parts, as they are kept.
    pub(crate) fn parts(&self) -> Result<Vec<&'a RawValue>, ReadError> {
        let parts: Option<Vec<&RawValue>> = read::parse(self.parts, "the message's parts")?;
        Ok(parts.unwrap_or_default())
    }
}

/// The block of each part by itself.
pub(crate) fn blocks(parts: &[&RawValue]) -> Result<Vec<Block>, ReadError> {
    let mut names = Names::default();
    let block = |(index, raw): (usize, &&RawValue)| {
        names.see(raw.get());
        Ok(Part::read(raw, index)?.block(raw, index, &names))
    };
    parts.iter().enumerate().map(block).collect()
}

/// Reads a message.
pub(crate) fn message(json: &str) -> Result<(Role, Vec<Block>), ReadError> {
    let content = Content::read(json)?;
    let role = match content.role.as_deref() {
        // Answers once had a role of their own.
        None | Some("user" | "function") => Role::User,
        Some("model") => Role::Assistant,
        Some("system") => Role::System,
        Some(role) => return Err(ReadError::Role { role: role.to_owned() }),
    };
    let parts = content.parts()?;
    let mut joined: Vec<Block> = Vec::new();
    let mut open = Kind::Other;
    for ((index, raw), block) in parts.iter().enumerate().zip(blocks(&parts)?) {
        let part = Part::read(raw, index)?;
        let (kind, signed) = (part.kind(), part.is_signed());
        let continues = signed && kind == open;
        // Behind a signature a new text begins.
        open = if signed { Kind::Other } else { kind };
        match (joined.last_mut().filter(|_| continues), block) {
            (Some(Block::Text(text)), Block::Text(more)) => text.push_str(&more),
            (Some(Block::Text(_)), Block::Thinking { .. }) => {}
            (
                Some(Block::Thinking { text, signature }),
                Block::Thinking { text: more, signature: last },
            ) => {
                text.push_str(&more);
                *signature = last;
            }
            (_, block) => joined.push(block),
        }
    }
    Ok((role, joined))
}
