//! Requests that are none of the conversation's: what is kept of each as the reason why its model stopped.

/// One that keeps a cache from expiring.
pub(crate) const KEEP_WARM: &str = "keep_warm";

/// One that has the provider hold a prefix under a name.
pub(crate) const CACHED_CONTENT: &str = "cached_content";

/// One that sums a conversation up.
pub(crate) const COMPACTION: &str = "compaction";

/// One that drafts what a fork hands back.
pub(crate) const MERGE_BACK: &str = "merge_back";

/// One of a guest's program beside its conversation, such as for a title.
pub(crate) const ASIDE: &str = "aside";

/// All of them.
pub(crate) const ALL: [&str; 5] = [KEEP_WARM, CACHED_CONTENT, COMPACTION, MERGE_BACK, ASIDE];
