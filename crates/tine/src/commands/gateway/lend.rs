//! Credentials of hosts, in memory alone, for forks of their conversations.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use tine_fork::host::{Ids as _, SystemIds};
use tine_gateway::{Lender, account_headers};
use tine_llm::account;

use crate::borrow::{agreed_file, is_listening};

/// Beginnings of tokens that a login gives and renews: of Anthropic's OAuth, and of JSON Web Tokens (OpenAI's).
const OF_LOGINS: [&str; 2] = ["sk-ant-oat", "eyJ"];

/// The last headers of each account.
#[derive(Clone, Default)]
pub(super) struct Vault(Arc<Mutex<HashMap<String, HeaderMap>>>);

impl Vault {
    /// Keeps the credentials of a request. Returns the account that they belong to, which tells nothing of them.
    ///
    /// The account of a key is that which tine's own requests with this key have. Tokens of a login change every hour, so its account is
    /// told by the host alone.
    pub(super) fn note(&self, host: &str, upstream: &str, headers: &HeaderMap) -> String {
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = value(AUTHORIZATION.as_str()).map(|text| text.trim_start_matches("Bearer "));
        let key = value("x-api-key").or(bearer).unwrap_or_default();
        let account = match OF_LOGINS.iter().any(|begin| key.starts_with(begin)) {
            true => account(upstream, &format!("the login of {host}")),
            false => account(upstream, key),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(account.clone(), account_headers(headers));
        account
    }

    /// Returns the part of it that a gateway asks for the headers of an account.
    pub(super) fn lender(&self) -> Lender {
        let all = Arc::clone(&self.0);
        Arc::new(move |account: &str| {
            all.lock().unwrap_or_else(PoisonError::into_inner).get(account).cloned()
        })
    }
}

/// A path for a socket that no other gateway has. It is short: systems limit it.
pub(super) fn socket_in(directory: &Path) -> PathBuf {
    let number = u128::from_be_bytes(SystemIds.random());
    directory.join(format!("{:08x}.sock", number >> 96))
}

/// Removes the sockets of gateways that were killed.
pub(super) async fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let sockets: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    for socket in sockets.iter().filter(|path| path.extension().is_some_and(|it| it == "sock")) {
        if !is_listening(socket).await {
            // Another process may have removed them at this moment.
            drop(std::fs::remove_file(agreed_file(socket)));
            drop(std::fs::remove_file(socket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_told_by_its_key_and_a_login_by_its_host() {
        let vault = Vault::default();
        let noted = |name: &'static str, value: &'static str| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                http::HeaderValue::from_static(value),
            )]);
            vault.note("claude-code", "https://api.test/", &headers)
        };
        let key = noted("x-api-key", "sk-1");
        assert_eq!(key, account("https://api.test", "sk-1"));
        assert_eq!(noted("authorization", "Bearer sk-1"), key);
        assert_ne!(noted("x-api-key", "sk-2"), key);
        let login = noted("authorization", "Bearer sk-ant-oat01-a");
        assert_eq!(noted("authorization", "Bearer sk-ant-oat01-b"), login);
        let lender = vault.lender();
        let lent = lender(&login).unwrap();
        assert_eq!(lent["authorization"], "Bearer sk-ant-oat01-b");
        assert!(lender("another").is_none());
    }
}
