//! Says beforehand that a file cannot be written as the agent means it, so that nobody is asked about a call that cannot succeed.

use tine_model::RawJson;

use crate::file_write::check_seen;
use crate::place::Place;
use crate::{disk, file_edit, file_write};

/// The words with which a call of this tool would be refused at this place, because the file that it writes has not been read or has
/// changed since. `None` for every other call, and where something else is wrong: the call itself tells that.
pub async fn refuse_unread(place: &Place, tool: &str, input: &RawJson) -> Option<String> {
    let file_path = match tool {
        "FileEdit" => file_edit::order(input).ok()?.file_path,
        "FileWrite" => file_write::order(input).ok()?.0,
        _ => return None,
    };
    let place = place.share();
    let check = move || {
        let spot = place.spot_to_write("file_path", &file_path).ok()?;
        let existing = disk::find(&spot).ok()??;
        check_seen(&place, &spot, &existing).err()
    };
    let refusal = tokio::task::spawn_blocking(check).await.ok()?;
    refusal.map(crate::tool::Failure::into_text)
}
