//! `tine login`, `tine logout` and `tine models`: keys of providers, and the models that they open.

use clap::Args;

/// `tine login`
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The provider, such as anthropic; without it, list where each key is from
    pub(crate) provider: Option<String>,
    /// Store no key, but a command that prints it, such as `pass show anthropic`
    #[arg(long, value_name = "COMMAND", requires = "provider")]
    pub(crate) helper: Option<String>,
}

/// `tine logout`
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The provider; without it, list where each key is from
    pub(crate) provider: Option<String>,
}

/// `tine models`
#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Models without a key, too
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
