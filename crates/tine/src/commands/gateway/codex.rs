//! Codex's own settings, as far as they say where its requests go. Facts of version 0.169: a login by account asks another address than
//! a key does, and the option of the built-in provider says nothing to a provider of the user's own.

use std::path::Path;

use serde::Deserialize;

/// The address that Codex asks after a login by account.
const BY_ACCOUNT: &str = "https://chatgpt.com/backend-api/codex";

/// The option by which Codex is told a base URL, and the URL that its settings name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CodexRoute {
    pub(super) option: String,
    pub(super) upstream: Option<String>,
}

impl CodexRoute {
    /// Reads the settings in Codex's folder. What is not there, or cannot be read, says nothing: Codex itself will complain.
    pub(super) fn of(folder: &Path) -> Self {
        let read = |name| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        Self::read(&read("config.toml"), &read("auth.json"))
    }

    fn read(settings: &str, login: &str) -> Self {
        let settings: Option<toml::Table> = settings.parse().ok();
        let text = |name: &str| settings.as_ref()?.get(name)?.as_str();
        // One with a dot in its name cannot be said on Codex's command line.
        let own = text("model_provider").filter(|name| *name != "openai" && !name.contains('.'));
        let own_url = own.and_then(|name| {
            let providers = settings.as_ref()?.get("model_providers")?;
            Some((name, providers.get(name)?.get("base_url")?.as_str()?))
        });
        if let Some((name, url)) = own_url {
            let option = format!("model_providers.{name}.base_url");
            return Self { option, upstream: Some(url.to_owned()) };
        }
        let by_account = is_by_account(login).then_some(BY_ACCOUNT);
        let upstream = text("openai_base_url").or(by_account).map(str::to_owned);
        Self { option: "openai_base_url".to_owned(), upstream }
    }
}

fn is_by_account(login: &str) -> bool {
    #[derive(Deserialize)]
    struct Login {
        auth_mode: Option<String>,
        #[serde(rename = "OPENAI_API_KEY")]
        key: Option<String>,
        tokens: Option<serde_json::Value>,
    }
    let Ok(login) = serde_json::from_str::<Login>(login) else { return false };
    match login.auth_mode {
        Some(mode) => mode.starts_with("chatgpt"),
        None => login.key.is_none() && login.tokens.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: &str, login: &str, option: &str, upstream: Option<&str>) {
        let (option, upstream) = (option.to_owned(), upstream.map(str::to_owned));
        let route = CodexRoute::read(settings, login);
        assert_eq!(route, CodexRoute { option, upstream }, "{settings} {login}");
    }

    #[test]
    fn settings_and_login_say_where_requests_go() {
        let built_in = "openai_base_url";
        check("", "", built_in, None);
        check("no TOML", "no JSON", built_in, None);
        check("", r#"{"OPENAI_API_KEY":"k","tokens":null}"#, built_in, None);
        check("", r#"{"auth_mode":"apikey","OPENAI_API_KEY":"k","tokens":{}}"#, built_in, None);
        check("", r#"{"OPENAI_API_KEY":null,"tokens":{}}"#, built_in, Some(BY_ACCOUNT));
        check("", r#"{"auth_mode":"chatgpt","tokens":{}}"#, built_in, Some(BY_ACCOUNT));
        let url = "openai_base_url = \"https://a.test/v1\"";
        check(url, r#"{"auth_mode":"chatgpt"}"#, built_in, Some("https://a.test/v1"));
        let own =
            "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"https://b.test\"";
        check(own, "", "model_providers.mine.base_url", Some("https://b.test"));
        check("model_provider = \"other\"", "", built_in, None);
    }
}
