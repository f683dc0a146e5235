//! Checks of the facts that servers of models have told about themselves.

use super::Fixture;
use crate::{Result, ServerNote};

/// A note about a host.
pub fn server_note_of(host: &str, model: &str, name: &str, value: &str) -> ServerNote {
    let text = str::to_owned;
    ServerNote {
        host: text(host),
        model: text(model),
        name: text(name),
        value: text(value),
        at_ms: 7,
    }
}

/// Every later handle finds it, by its host alone; the later word of one name counts.
pub async fn what_a_server_said_is_kept_by_its_host(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let window = server_note_of("http://a", "m", "window", "4096");
    let refuses = server_note_of("http://a", "", "refuses x", "y");
    for note in [
        server_note_of("http://a", "m", "window", "2048"),
        window.clone(),
        refuses.clone(),
        server_note_of("http://b", "m", "window", "1"),
    ] {
        store.note_server(note).await?;
    }
    let other = fixture.open().await?;
    assert_eq!(other.server_notes("http://a").await?, [refuses, window]);
    assert_eq!(other.server_notes("http://c").await?, []);
    Ok(())
}
