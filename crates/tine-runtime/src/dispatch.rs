//! Tool calls of a run: permission first, then the toolbox.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::{CallContext, InnerCalls, ToolAnswer, ToolCall, ToolDispatcher};
use tine_guard::real_call;
use tine_model::{AgentId, RawJson};
use tine_tools::{Caller, Effect, Place, ToolOutput, Toolbox};

use crate::permission::Permissions;

/// The built-in tools at one agent's place, behind its permissions.
pub(crate) struct GuardedTools {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) place: Place,
    pub(crate) permissions: Permissions,
    pub(crate) agent: AgentId,
    pub(crate) label: Option<String>,
}

#[async_trait]
impl ToolDispatcher for GuardedTools {
    fn is_read_only(&self, tool: &str) -> bool {
        self.toolbox.get(tool).is_some_and(|tool| tool.spec().effect == Effect::Reads)
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let Some(tool) = self.toolbox.get(&call.name) else {
            let names: Vec<&str> = self.toolbox.specs().map(|spec| spec.name).collect();
            let name = &call.name;
            return ToolAnswer::error(format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            ));
        };
        let who = (self.agent, self.label.as_deref());
        let what = (call.name.as_str(), &call.input);
        let (directory, cancel) = (self.place.directory(), &context.cancel);
        let real = match real_call(what, directory, self.place.real_directory()) {
            Ok(real) => real,
            Err(error) => return ToolAnswer::error(format!("Denied: {error}.")),
        };
        if let Err(told) = self.permissions.check(who, directory, what, real.as_ref(), cancel).await
        {
            return ToolAnswer::error(told);
        }
        let place = self.place.with_caller(Arc::new(Inner(context.calls.clone())));
        let place = match real {
            Some(real) => place.judged(&real.path),
            None => place,
        };
        let output = tool.run(&place, &call.input, cancel).await;
        ToolAnswer { text: output.text, is_error: output.is_error }
    }
}

/// What a script calls is filtered and judged like what the model calls.
struct Inner(InnerCalls);

#[async_trait]
impl Caller for Inner {
    async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput {
        let ToolAnswer { text, is_error } = self.0.call(tool, input.clone()).await;
        ToolOutput { text, is_error }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::Mutex;

    use tine_guard::{PermissionMode, Rules};
    use tine_model::ToolCallId;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::permission::{Answer, Asker, Request};

    /// Says yes for always, and notes why it was asked.
    #[derive(Default)]
    struct Yes(Mutex<Vec<String>>);

    #[async_trait]
    impl Asker for Yes {
        async fn ask(&self, request: &Request, _cancel: &CancellationToken) -> Answer {
            self.0.lock().unwrap().push(request.why.clone());
            Answer::Always
        }
    }

    #[tokio::test]
    async fn a_word_on_a_link_is_for_what_it_leads_to_now() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for (folder, text) in [("in", "in"), ("one", "first"), ("two", "second")] {
            std::fs::create_dir(home.join(folder)).unwrap();
            std::fs::write(home.join(folder).join("f"), text).unwrap();
        }
        let door = home.join("in/door");
        symlink("../one", &door).unwrap();
        let asker = Arc::new(Yes::default());
        let rules = Rules::default();
        let tools = GuardedTools {
            toolbox: Arc::new(Toolbox::built_in()),
            place: Place::new(&home.join("in")).unwrap(),
            permissions: Permissions::new(PermissionMode::Default, rules, asker.clone()),
            agent: AgentId::from_random([7; 16]),
            label: None,
        };
        let call = ToolCall {
            id: ToolCallId("1".to_owned()),
            name: "FileRead".to_owned(),
            input: RawJson::parse(r#"{"file_path":"door/f"}"#).unwrap(),
        };
        let context = CallContext { cancel: CancellationToken::new(), calls: InnerCalls::none() };
        let read = async || tools.dispatch(&call, &context).await.text;
        assert_eq!(read().await, "     1\tfirst");
        assert_eq!(read().await, "     1\tfirst");
        std::fs::remove_file(&door).unwrap();
        symlink("../two", &door).unwrap();
        assert_eq!(read().await, "     1\tsecond");
        let asked = asker.0.lock().unwrap().join("\n").replace(&*home.to_string_lossy(), "HOME");
        insta::assert_snapshot!(asked, @"
        `HOME/one/f` is outside the directory, through a symbolic link
        `HOME/two/f` is outside the directory, through a symbolic link
        ");
    }
}
