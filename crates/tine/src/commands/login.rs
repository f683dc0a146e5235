//! `tine login` and `tine logout`: keys of providers.

use std::io::{self, BufRead as _, IsTerminal as _};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use tine_llm::GOOGLE_KEY_VARIABLE;
use tine_model::Provider;
use tine_wire::Endpoint;

use crate::cli::{LoginArgs, LogoutArgs};
use crate::credentials::{Credentials, PROVIDERS, StoredKey, account_name, check, store};
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use crate::inside;
use crate::output;
use crate::prompt::take_stdin;
use crate::render::table::{Align, Table};

pub(crate) fn login(args: LoginArgs) -> Result<u8, Failure> {
    inside::only_a_person("stores no keys", "a person runs `tine login` in a terminal")?;
    let file = Dirs::find(&variable)?.credentials();
    let Some(name) = &args.provider else {
        // A key in a pipe is meant to be stored.
        if !io::stdin().is_terminal()
            && io::stdin().lock().fill_buf().is_ok_and(|key| !key.is_empty())
        {
            let all = PROVIDERS.map(account_name).join(", ");
            return Err(Failure::usage("a key was piped in, and no provider named")
                .hint(format!("`tine login PROVIDER` stores it, for one of {all}")));
        }
        return list(&Credentials::read(&file)?);
    };
    let provider = provider(name)?;
    // What stands there is checked before anything is typed.
    Credentials::read(&file)?;
    let key = match args.helper {
        Some(command) if command.trim().is_empty() => {
            return Err(
                Failure::usage("--helper is empty").hint("it is a command that prints the key")
            );
        }
        Some(command) => StoredKey::Helper(command),
        None => {
            let key = typed_key(provider)?;
            check(&key).map_err(|problem| Failure::input(format!("the key {problem}")))?;
            StoredKey::Key(key)
        }
    };
    store(&file, provider, Some(key))?;
    let name = account_name(provider);
    output::line(&format!("The key of {name} is stored in {}", file.display()))?;
    if let Some(set) = set_variable(provider) {
        output::say(&format!("note: {set} is set, and comes before the stored key"));
    }
    output::say("`tine models` lists what you can use");
    Ok(0)
}

pub(crate) fn logout(args: &LogoutArgs) -> Result<u8, Failure> {
    inside::only_a_person("removes no keys", "a person runs `tine logout` in a terminal")?;
    let file = Dirs::find(&variable)?.credentials();
    let Some(provider) = &args.provider else { return list(&Credentials::read(&file)?) };
    let provider = self::provider(provider)?;
    let name = account_name(provider);
    if !store(&file, provider, None)? {
        return Err(Failure::input(format!("no key of {name} is stored"))
            .hint("`tine login` alone lists where each key is from"));
    }
    output::line(&format!("The key of {name} is removed from {}", file.display()))?;
    Ok(0)
}

/// The place that the key of a provider is from, in a few words. None if it has no key.
pub(crate) fn key_origin(credentials: &Credentials, provider: Provider) -> Option<String> {
    let set = set_variable(provider).map(|variable| format!("{variable} is set"));
    set.or_else(|| credentials.of(provider).map(StoredKey::origin))
}

fn list(credentials: &Credentials) -> Result<u8, Failure> {
    let mut table = Table::new(&[("PROVIDER", Align::Left), ("KEY", Align::Left)]);
    for provider in PROVIDERS {
        let origin = key_origin(credentials, provider).unwrap_or_else(|| "none".to_owned());
        table.row([provider.as_str().into(), origin.into()]);
    }
    output::write_out(&table.to_text())?;
    output::say(
        "`tine login PROVIDER` stores a key, `tine login PROVIDER --helper COMMAND` a command that prints it; `tine logout PROVIDER` removes either",
    );
    Ok(0)
}

fn provider(name: &str) -> Result<Provider, Failure> {
    let found = Provider::from_name(name).filter(|found| *found != Provider::Sim);
    found.ok_or_else(|| {
        let names: Vec<&str> = PROVIDERS.iter().map(|one| one.as_str()).collect();
        Failure::input(format!("`{name}` is no provider that takes a key"))
            .hint(format!("providers are {}", names.join(", ")))
    })
}

/// The variable of the environment that gives the key of a provider.
fn set_variable(provider: Provider) -> Option<&'static str> {
    let endpoint = Endpoint::of(provider)?;
    let also = (provider == Provider::Gemini).then_some(GOOGLE_KEY_VARIABLE);
    let mut names = endpoint.token_variable.into_iter().chain([endpoint.key_variable]).chain(also);
    names.find(|name| variable(name).is_some_and(|key| !key.trim().is_empty()))
}

/// A key that is typed without being shown, or the first line of a pipe.
fn typed_key(provider: Provider) -> Result<String, Failure> {
    take_stdin()?;
    let stdin = io::stdin();
    let _hidden = if stdin.is_terminal() {
        // Hidden first: whoever sees the question may type at once.
        let hidden = HiddenInput::new();
        output::prompt(&format!("Key of {} (it is not shown): ", account_name(provider)));
        hidden
    } else {
        None
    };
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    read.map_err(|error| Failure::input("cannot read the key").because(&error))?;
    if stdin.is_terminal() {
        output::say("");
    }
    Ok(line.trim().to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn new() -> Option<Self> {
        let before = termios::tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes -= LocalModes::ECHO;
        termios::tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // Where it fails the terminal is gone.
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
