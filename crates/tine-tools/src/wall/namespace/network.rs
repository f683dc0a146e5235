//! The network of a command behind a wall, and how later commands of its agent get into it: a server in the background would be reached by
//! nobody else.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use tine_model::NetworkReach;
use tokio::task::JoinSet;

use super::Reports;
use crate::wall::{Proxy, Refusals};

/// A network that tine serves, for as long as a command is in it.
#[derive(Debug)]
pub(crate) struct Network {
    /// `None` where only the loopback device is there.
    reach: Option<NetworkReach>,
    refusals: Refusals,
    namespaces: Arc<OnceLock<Namespaces>>,
    /// Ends when this is dropped.
    _serving: JoinSet<()>,
}

/// Handles of a network, in the order in which a process enters them: the user namespace that owns it, unless that is tine's own, and the
/// network itself. They stay when their processes have ended.
#[derive(Debug)]
pub(crate) struct Namespaces(Vec<OwnedFd>);

impl Namespaces {
    pub(super) fn new(handles: Vec<OwnedFd>) -> Self {
        Self(handles)
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(AsFd::as_fd)
    }
}

impl Network {
    /// Serves the network that the stages of a command make, by the proxy if there is one. Must be called within a tokio runtime.
    pub(crate) fn of(reports: &Reports, proxy: Option<&Arc<Proxy>>) -> std::io::Result<Self> {
        let (refusals, namespaces) = (Refusals::default(), Arc::<OnceLock<Namespaces>>::default());
        let serving =
            reports.serve(proxy.cloned(), Arc::clone(&refusals), Arc::clone(&namespaces))?;
        let mut tasks = JoinSet::new();
        // A command whose network fails finds nobody there, which it says itself.
        tasks.spawn(async { drop(serving.await) });
        let reach = proxy.map(|proxy| proxy.reach().clone());
        Ok(Self { reach, refusals, namespaces, _serving: tasks })
    }

    /// What a command needs to get in; `None` where its wall reaches other hosts, or this one lends nothing.
    pub(crate) fn open_to(&self, proxy: Option<&Arc<Proxy>>) -> Option<&Namespaces> {
        self.namespaces.get().filter(|_| self.reach.as_ref() == proxy.map(|proxy| proxy.reach()))
    }

    /// The hosts that commands in it were refused. It grows while they run.
    pub(crate) fn refusals(&self) -> Refusals {
        Arc::clone(&self.refusals)
    }
}
