//! Keys of providers that `tine login` has stored, each as it is or as a command that prints it. The file is readable by its owner alone.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tine_llm::Secret;
use tine_model::Provider;
use tine_runtime::ConnectError;
use tokio::sync::OnceCell;

use crate::fail::Failure;
use crate::whole_file::write_private_file;

/// Longest time that a command may take to print a key: a person may have to unlock a store of passwords.
const HELPER_TIME: Duration = Duration::from_secs(60);

/// The bits of a file's mode that let others in.
const OTHERS: u32 = 0o077;

/// A stored key, or the command that prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoredKey {
    /// The key itself.
    Key(String),
    /// A command that prints it on standard output, as `sh -c` runs it.
    Helper(String),
}

impl StoredKey {
    /// The place where the key is from, in a few words.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Key(_) => "stored by `tine login`".to_owned(),
            Self::Helper(command) => format!("printed by `{command}`"),
        }
    }
}

/// A stored key, and what its command has printed in this process.
#[derive(Debug, Clone)]
struct Entry {
    stored: StoredKey,
    printed: Arc<OnceCell<Secret>>,
}

/// All of them, by the name of the provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials(BTreeMap<String, Entry>);

impl Credentials {
    /// Reads the file; none where it is not there.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let stored = read(file)?.into_iter();
        Ok(Self(
            stored
                .map(|(name, stored)| (name, Entry { stored, printed: Arc::default() }))
                .collect(),
        ))
    }

    /// The stored key of a provider.
    pub(crate) fn of(&self, provider: Provider) -> Option<&StoredKey> {
        self.0.get(account_name(provider)).map(|entry| &entry.stored)
    }

    /// The key of a provider; its command runs once in a process.
    pub(crate) async fn key(&self, provider: Provider) -> Result<Option<Secret>, ConnectError> {
        let Some(Entry { stored, printed }) = self.0.get(account_name(provider)) else {
            return Ok(None);
        };
        let command = match stored {
            StoredKey::Key(key) => return Ok(Some(Secret::new(key))),
            StoredKey::Helper(command) => command,
        };
        let failed = |source: io::Error| ConnectError::Key {
            provider: provider.as_str().to_owned(),
            source: Box::new(source),
        };
        let printed = printed.get_or_try_init(|| async {
            let text = tine_tools::printed_by(command, HELPER_TIME).await?;
            let key = text.lines().next().unwrap_or_default().trim();
            check(key).map_err(|problem| io::Error::other(format!("what it printed {problem}")))?;
            Ok(Secret::new(key))
        });
        printed.await.cloned().map(Some).map_err(failed)
    }

    /// A text that tells the account of a provider from others. No command runs.
    pub(crate) fn account_key(&self, provider: Provider) -> Option<Secret> {
        self.of(provider).map(|stored| match stored {
            StoredKey::Key(text) | StoredKey::Helper(text) => Secret::new(text),
        })
    }
}

/// The providers that take a key.
pub(crate) const PROVIDERS: [Provider; 6] = [
    Provider::Anthropic,
    Provider::OpenAi,
    Provider::Gemini,
    Provider::DeepSeek,
    Provider::MiniMax,
    Provider::OpenAiCompat,
];

/// The name under which the key of a provider is stored: both formats of OpenAI take the same.
pub(crate) fn account_name(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAiChat => Provider::OpenAi.as_str(),
        other => other.as_str(),
    }
}

/// Says what is wrong with a text that should be a key.
pub(crate) fn check(key: &str) -> Result<(), &'static str> {
    if key.is_empty() {
        Err("is empty")
    } else if key.chars().any(|character| !character.is_ascii_graphic()) {
        Err("has blanks or characters that no key has")
    } else {
        Ok(())
    }
}

/// Stores a key, or takes it away. Returns false where there was none to be taken away.
pub(crate) fn store(
    file: &Path,
    provider: Provider,
    key: Option<StoredKey>,
) -> Result<bool, Failure> {
    let mut all = read(file)?;
    let name = account_name(provider);
    let changed = match key {
        Some(key) => {
            all.insert(name.to_owned(), key);
            true
        }
        None => all.remove(name).is_some(),
    };
    if changed {
        let text = serde_json::to_string_pretty(&all)
            .map_err(|error| Failure::failed("cannot write the keys as JSON").because(&error))?;
        write_private_file(file, &text).map_err(|error| {
            Failure::failed(format!("cannot write {}", file.display())).because(&error)
        })?;
    }
    Ok(changed)
}

fn read(file: &Path) -> Result<BTreeMap<String, StoredKey>, Failure> {
    let failed = |error: io::Error| {
        Failure::input(format!("cannot read {}", file.display())).because(&error)
    };
    let mode = match std::fs::metadata(file) {
        Ok(metadata) => metadata.permissions().mode(),
        // Where the whole directory is missing or none, whoever needs it says so.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(failed(error)),
    };
    if mode & OTHERS != 0 {
        return Err(Failure::input(format!(
            "{} holds keys, and others may read it",
            file.display()
        ))
        .hint(format!("`chmod 600 {}`", file.display())));
    }
    let text = std::fs::read_to_string(file).map_err(failed)?;
    let keys: BTreeMap<String, StoredKey> = serde_json::from_str(&text).map_err(|error| {
        // What the error says of the text may be a key.
        let (file, line) = (file.display(), error.line());
        Failure::input(format!("{file} is not as `tine login` writes it, line {line}"))
            .hint("mend it, or remove it and run `tine login` again")
    })?;
    match keys.keys().find(|name| Provider::from_name(name).is_none()) {
        None => Ok(keys),
        Some(name) => Err(Failure::input(format!(
            "{} has a key for `{name}`, which is no provider",
            file.display()
        ))),
    }
}
