//! Which tools start agents, whoever provides them.

use super::specs::CrewTool;

/// What stands before the names of tools of an MCP server: `mcp__SERVER__TOOL`.
const MCP: &str = "mcp__";

/// Names under which agent tools start or resume agents, without case and separators.
const SPAWNING: [&str; 24] = [
    "agent",
    "agentrun",
    "agentstart",
    "createagent",
    "delegate",
    "delegatetask",
    "dispatchagent",
    "fan",
    "fanout",
    "fork",
    "forkagent",
    "forksession",
    "launchagent",
    "resumetask",
    "runagent",
    "sessionfork",
    "spawn",
    "spawnagent",
    "startagent",
    "starttask",
    "subagent",
    "task",
    "taskresume",
    "taskstart",
];

/// Whether calls of this tool start or resume agents: our own, the delegation tool, and tools of other servers that are named as such.
/// A tool that does so under another name is not known; its agents are another program's.
pub(crate) fn spawns(tool: &str) -> bool {
    if CrewTool::named(tool).is_some_and(CrewTool::forks)
        || tool == tine_fork::delegate::DELEGATE_TOOL
    {
        return true;
    }
    let Some(rest) = tool.strip_prefix(MCP) else { return false };
    let name = rest.rsplit_once("__").map_or(rest, |(_, name)| name);
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    SPAWNING.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_door_is_known() {
        for tool in [
            "Agent",
            "TaskStart",
            "delegate",
            "mcp__tine__fork",
            "mcp__tine__task_start",
            "mcp__other__spawn_agent",
            "mcp__other__Task",
            "mcp__a__b__dispatch-agent",
        ] {
            assert!(spawns(tool), "{tool}");
        }
        for tool in ["Bash", "TaskList", "TaskOutput", "mcp__git__fork_point", "mcp__x__task_list"]
        {
            assert!(!spawns(tool), "{tool}");
        }
    }
}
