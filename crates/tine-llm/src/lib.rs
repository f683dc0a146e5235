//! LlmClient, HTTP transport and retries.
