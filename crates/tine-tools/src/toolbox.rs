//! The set of tools that an agent declares.

use std::sync::Arc;

use crate::tool::{Tool, ToolSpec};
use crate::{Bash, BashOutput, FileEdit, FileRead, FileWrite, Glob, Grep, Repl};

/// Two tools have the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two tools are named `{0}`")]
pub struct ToolboxError(pub &'static str);

/// Tools sorted by name, so that every agent with the same tools declares the same bytes. Cloning
/// shares the tools.
#[derive(Clone)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// The tools that every agent has.
    pub fn built_in() -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Bash),
            Arc::new(BashOutput),
            Arc::new(FileEdit),
            Arc::new(FileRead),
            Arc::new(FileWrite),
            Arc::new(Glob),
            Arc::new(Grep),
        ];
        Self { tools }
    }

    /// This set and more tools.
    pub fn with(mut self, more: Vec<Arc<dyn Tool>>) -> Result<Self, ToolboxError> {
        self.tools.extend(more);
        self.tools.sort_by_key(|tool| tool.spec().name);
        for pair in self.tools.windows(2) {
            if let [first, second] = pair
                && first.spec().name == second.spec().name
            {
                return Err(ToolboxError(first.spec().name));
            }
        }
        Ok(self)
    }

    /// This set and a `REPL`, in whose scripts the tools of this set are functions.
    pub fn with_repl(mut self) -> Self {
        self.tools.retain(|tool| tool.spec().name != Repl::NAME);
        let repl = Repl::over(self.specs().map(|spec| spec.name).collect());
        self.tools.push(Arc::new(repl));
        self.tools.sort_by_key(|tool| tool.spec().name);
        self
    }

    /// The declarations in name order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| tool.spec())
    }

    /// The tool with exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Toolbox {
        Toolbox::built_in().with_repl()
    }

    #[test]
    fn declarations_are_frozen_and_in_name_order() {
        let list: Vec<String> = all()
            .specs()
            .map(|spec| {
                let text = format!("{}\n{}\n{}", spec.name, spec.description, spec.schema);
                let hash = blake3::hash(text.as_bytes()).to_hex();
                format!("{} {:?} {}", spec.name, spec.effect, &hash[..12])
            })
            .collect();
        // A new hash here means that every running conversation loses its cached prefix.
        insta::assert_snapshot!(list.join("\n"), @"
        Bash Runs f438441a4273
        BashOutput Reads 4dbeae80c646
        FileEdit Writes 246920c756d7
        FileRead Reads c93226da4d71
        FileWrite Writes 4e33c1d7e8f0
        Glob Reads d17af4c12766
        Grep Reads 79b278f0dcc5
        REPL Calls e4a792f779ea
        ");
    }

    #[test]
    fn every_schema_is_a_closed_object_whose_required_fields_exist() {
        for spec in all().specs() {
            let schema: serde_json::Value = serde_json::from_str(spec.schema).unwrap();
            assert_eq!(schema["type"], "object", "{}", spec.name);
            assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
            for field in schema["required"].as_array().unwrap() {
                assert!(schema["properties"].get(field.as_str().unwrap()).is_some());
            }
        }
    }

    #[test]
    fn a_second_tool_of_the_same_name_is_refused() {
        let error = Toolbox::built_in().with(vec![Arc::new(Glob)]).err();
        assert_eq!(error, Some(ToolboxError("Glob")));
        assert!(Toolbox::built_in().get("Glob").is_some());
        assert!(Toolbox::built_in().get("glob").is_none());
    }
}
