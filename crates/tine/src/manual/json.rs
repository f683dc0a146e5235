//! The shapes of what `--json` prints: promises to scripts.

use super::sections::Section;

pub(super) const JSON: Section = Section {
    heading: "JSON",
    text: "With --json the result is one line of JSON on standard output. Ids are in full, times in RFC 3339 (UTC). The id of an agent is called \"agent\" everywhere. Beside it \"id\" (of ps, tree, show, wait and tasks) and \"task\" (of task start and task resume) hold the same id; they go in a later version. Fields are added in later versions, and never change their meaning. A command that fails before it has begun (no key, an unknown agent) prints nothing there: its error is on standard error, its code is the exit status.",
    terms: &[
        (
            "usage",
            r#"{"uncached","write_short","write_long","read","output","reasoning"} in tokens; null is what the provider did not report"#,
        ),
        (
            "tine run, tine fork with a prompt",
            r#"{"agent","parent","fork_point","context","outcome","text","turns","tool_uses","usage","cost_usd","priced_as","denied":[{"agent","tool","call","why"}],"tasks":[task],"worktree":{"path"}|null,"error"}; with --output-format stream-json a record a line, which differ in "type": init, request, text, thinking, message, tool_call, tool_result, retry (text and thinking since the last request are given up), held, paused, shared {"others":[{"agent","name","directory"}]}, store_waits, unkept {"note"}, left_behind {"processes":[{"agent","call","process","command","ended"}]}, dialect {"left_out","note"}, lagged {"missed"} (output was read too slowly), usage, worker_started {"agent","task","description","resumes"}, worker_ended {"agent","status","report","error","flags","turns","tool_uses","usage"}, and last result"#,
        ),
        (
            "task",
            r#"{"agent","id","name","spawner","status","description","directive","definition","forked","context","resumes","report","error","flags":[…],"usage","turns","tool_uses","created_at","ended_at","duration_ms","cleared","worktree":{"path","files","commits"}|null}"#,
        ),
        (
            "tine task start, tine task resume",
            r#"{"agent","task","spawner","status":"started"|"resumed"|"queued","log","worktree":{"path"}|null,"open_calls":as in tine fork}; with --wait the task"#,
        ),
        ("tine task list", r#"{"tasks":[task]}"#),
        (
            "tine task output",
            r#"{"task":task,"entries":[as in show],"next","timed_out"}; next is for --since"#,
        ),
        (
            "tine stop, tine task cancel, tine task hide",
            r#"{"stopped":[receipt]}, of hide also "cleared":[id]; a receipt is {"agent","name","description","status" of its task|null,"over","turns","tool_uses","usage","last_words"}"#,
        ),
        (
            "tine fork",
            r#"{"agent","parent","fork_point","context","open_calls":[{"id","tool"}],"worktree":{"path"}|null,"reach"}; open_calls is there where calls of the parent ran; context is full, turns, digest or fresh; reach is open, directory, read-only or notes"#,
        ),
        (
            "tine compact",
            r#"{"agent","entry","keep","left_out","kept","tokens_before","tokens_after","usage","by":"summary"|"part"|"digest","unseen","cost_usd"}; unseen counts the oldest messages that a summary of a part does not know"#,
        ),
        ("tine mark, tine clear", r#"{"agent","entry","label"}; of mark --list a list of them"#),
        (
            "tine rewind",
            r#"{"agent","to","prompt","changes","commands"}; to is the last entry that counts, prompt the one that was taken back"#,
        ),
        (
            "tine merge-back",
            r#"{"source","into","fork_point","first","last","messages","already","wording":"draft"|"edited"|"given","text","entry","mail","usage"|null,"cost_usd"}; entry is null where the text is in the mailbox, both are null in a dry run"#,
        ),
        (
            "tine fan",
            r#"{"parent","fork_point","tasks":[{"agent","status","outcome","directive","report":{"scope","result","key_files","files_changed","issues","raw"}|null,"error","usage","first_usage","turns","tool_uses","duration_ms","flags","worktree":{"path","files","commits"}|null}],"open_calls":as in tine fork,"denied":[as in tine run],"cache":{"launch","warmth","reason","first","total","cost_usd","naive_usd","leader_first_usd","warm_usd","ideal_usd","uncached_usd","efficiency","priced_as","held":{"name","tokens","held_ms","cost_usd"}|null,"forks":[{"cost_usd","efficiency"}|null]}}; a worktree has "made" and "repositories" of `tine diff` where there are any"#,
        ),
        (
            "tine eval",
            r#"{"suite","passed","cases":[{"name","model","passed","runs":[{"passed","outcome","unmet":[…],"strayed","findings":[{"check","seen"}],"text","calls":[…],"usage","cost_usd","turns","duration_ms"}],"usage","cost_usd","cache_read_share","stray"}],"stray":{"runs","strayed","caught","false_alarms"}|null}"#,
        ),
        (
            "tine ps",
            r#"[{"agent","id","name","title","parent","fork_point","kind","state","failure","forked","context","model","effort","directory","reach","writable":[…],"network","hosts":[…],"depth","created_at","updated_at","task":{"status","turns","tool_uses","description","resumes","flags"}|null,"questions","left_running":[{"agent","call","process","command","ended"}],"worktree":{"path","origin","removed"}|null}]"#,
        ),
        ("tine tree", r#"the objects of ps, each with "directive" and "children":[…]"#),
        (
            "tine show",
            r#"{"agent":{…as in ps},"entries":[{"id","agent","own","effective","at","kind","message":{"role","blocks":[{"type",…}]}}],"mail":[{"id","sender","sent_at","text"}]}; an event has a field of its kind's name: "fork":{"role","other","fork_point"}, "mark":{"label"}, "rewind":{"to"}, "notice":{"text"}, "compact":{"keep","preface":{"role","blocks"}}, "dialect":{"host","left_out":[member],"refusal","from","lost_tokens","lost_usd"}"#,
        ),
        (
            "blocks",
            r#"{"type":"text","text"}, of a fork that was brought back also "merge_back":{"source","name","fork_point","first","last","wording"}; {"type":"thinking","text","signature"} {"type":"redacted_thinking","data"} {"type":"tool_use","id","name","input"} {"type":"tool_result","call","is_error","content":[…]} {"type":"image"|"document"|"unknown","raw"}"#,
        ),
        (
            "tine guard shell",
            r#"{"read_only","reason"}; with --jsonl one for each line {"cmd":"…"} of standard input, in order, also for a line that cannot be read"#,
        ),
        ("tine logs", "one entry a line, as in show"),
        (
            "tine wait",
            r#"{"timed_out","agents":[{"agent","id","name","state","finished","status":"received"|"running"|"dead"|"idle","task":{"status","report","error","turns","tool_uses"}|null}]}"#,
        ),
        ("tine send, tine task send", r#"{"agent","mail","next"}"#),
        ("tine kill", r#"{"killed":[id],"receipts":[receipt]}"#),
        (
            "tine budget",
            r#"{"agent","root","caps":{"tokens","usd","time_ms","agents","running":{"most","used","reserved","left"},"requests","waiting","unpriced","started_at"}|null,"reached":{"cap"}|null,"own":{"tokens","cost_usd"},"subtree":{"tokens","cost_usd"}}; most and left are null where there is no cap"#,
        ),
        (
            "tine diff",
            r#"{"agent","running","files":[file],"commits":[{"commit","subject","author"}],"uncommitted":[path],"ignored":[path],"repositories":[path],"standing":"ready"|"kept"|"vanished"|"gone"}; a file is {"path","from","status","added","removed"}, with "link":TARGET for a link that is new or leads elsewhere, "starts_programs":true where programs run it by its name, and "steers_agents":true where it tells tine or its agents what to do; where a path is not UTF-8, path_bytes (or from_bytes) beside it has its bytes in hex, also of conflicts"#,
        ),
        (
            "tine apply",
            r#"{"agent","outcome":"written"|"would_write"|"nothing"|"conflicts","onto","files":[file],"conflicts":[{"path","others","kind","place":"files"|"commits"|"index","base","ours","theirs","explanation"}],"mended","running","told":[id]}; base, ours and theirs are {"object"}|null. Where something stands in the way, the code is 42 and it is {"agent","outcome":"refused","obstacle","reason","paths":[path]}, with merge and cherry-pick, too"#,
        ),
        (
            "tine merge, tine cherry-pick",
            r#"as apply, with "before","head","fast_forward","commits","skipped","uncommitted":[path],"unfinished":[path]; unfinished is what was not committed in the checkout at the fork and came with the commits"#,
        ),
        (
            "tine pick",
            r#"{"candidates":[{"agent","status","good","check":{"passed","output","duration_ms","left"}|null,"files","added","removed","commits","cost_usd","duration_ms","said"}],"best":id|null,"taken":(as apply)|null}"#,
        ),
        (
            "tine worktree list",
            r#"{"worktrees":[{"agent","name","state":"ready"|"removed"|"unfinished"|"leaving"|"gone"|"moved","in_use","files","commits","ignored":[path],"repositories":[path],"ref"|null,"purged","path","origin","made_at","removed_at"}]}; files and commits are null where they cannot be told, agent where it is nobody's"#,
        ),
        (
            "tine worktree gc, tine worktree rm",
            r#"{"dry_run","collected":[{"agent","path","fate":"removed"|"vanished"|"tidied"|"failed","ref","error","ignored":[path]}],"kept"}; of rm {"dropped":[the same]}"#,
        ),
        (
            "tine rm",
            r#"{"dry_run","removed":[{"agent","entries","inherited","worktree"|null,"worktree_stays"|null}],"overwritten"}; inherited entries stay, because forks have them; overwritten is true where no word of what went is left in the store's files"#,
        ),
        (
            "tine worktree purge",
            r#"{"dry_run","purged":[{"agent"|null,"name","holds":"nothing"|"undo"|"brought-work"|"work","age_seconds","repository","gone"}],"kept","bytes"|null}"#,
        ),
        (
            "tine worktree repair",
            r#"{"repaired":[{"agent","path","from","repository"}],"followed":[agent]}"#,
        ),
        (
            "tine worktree recover",
            r#"{"agent","path","as_of":"removal"|"now"|"last-kept"|"start"|"anew"}"#,
        ),
        (
            "tine permission list, allow, deny, revoke",
            r#"[{"id","agent","root","tool","what","input","directory","why","warning","rule","offers":[rule],"widest","created_at","deadline_at","default","state","decision","scope","answered_by","answered_at","reason","used"}]; state is pending, allowed, denied, expired or withdrawn"#,
        ),
        (
            "tine permission rules",
            r#"{"mode","mode_from","deadline_seconds","default","wait","rules":[{"list","rule","file","line"}],"answers":[…as in permission list]}"#,
        ),
        (
            "tine import",
            r#"{"agent","entries","format","context","model","left_out":{kind:count},"rewritten":{kind:count},"damaged_lines":[line],"reason","as_sent","first_fork":{"cache":"cold"|"uncertain","why","until"}}"#,
        ),
        (
            "tine digest",
            r#"{"text","stats":{"messages","messages_dropped","tokens_dropped","message_cut","results","results_cut","results_cleared","arguments_cut","reasoning_omitted","files_omitted","characters","tokens_estimated","from_compaction","messages_before_compaction","left_out":{kind:count}}}; messages are those of the other program that its model is sent, and counts of results, arguments, reasoning and files are of the messages in the text. Where nothing was dropped, cut, cleared or omitted, the text says that nothing was left out; of an empty conversation it is empty"#,
        ),
        (
            "tine mcp install, tine mcp remove, tine gateway install, tine gateway remove",
            r#"{"host","file","outcome":"written"|"would_write"|"nothing","program"|null,"replaced","deleted","diff":[line]}; a line begins with - or +, and secrets are left out; deleted is true where the file goes as a whole"#,
        ),
        (
            "tine worker",
            r#"a line each: {"event":"ready","worker","labels":[label],"jobs","server"}, {"event":"began","agent","attempt"}, {"event":"ended","agent","outcome"}, {"event":"lost","agent","why"}, {"event":"away","why"}"#,
        ),
        (
            "tine cluster status",
            r#"{"url","server","replicas","jobs","event_bytes","blob_bytes","workers":[{"worker","labels":[label],"jobs","running":[agent],"version"}]}"#,
        ),
        (
            "tine gateway serve",
            r#"{"anthropic","openai","pid"}; base URLs for the two formats, once it listens"#,
        ),
        (
            "tine away",
            r#"{"agent","since","events":[{"at","kind","agent","text"}],"left_out","files":[path],"cost_usd","text"}; kind is an end of a task, working or question; since is null where nobody has prompted the tree"#,
        ),
        (
            "tine dream status, tine dream --dry-run",
            r#"{"memory_dir","gates":[{"name","open","reason"}],"last":run|null}; names are enabled, memory, hours, scan, sessions and lock, in this order"#,
        ),
        (
            "tine dream log, tine dream, tine dream undo, tine tick",
            r#"log is [run], newest first: {"run","outcome","phase","began_at","ended_at","context":"warm"|"digest","sessions":[agent],"gates","files","escapes","refused","redacted","commit","undone","turns","usage","cost_usd","error"}; outcome is running, completed, turn_limit, timed_out, stopped, budget_exhausted, failed or lost, phase starting, updating or ended. dream is {"memory_dir","gates","ran":run|null}, undo the run, tick [run] with "project" and "memory_dir""#,
        ),
        (
            "tine cost",
            r#"{"agents":[{"agent","name","budget":{…as caps of budget}|null,"own":[line],"subtree":[line],"causes":[{"cause","requests","missed_tokens","missed_usd"}]}],"total":{"requests","usage","hit_ratio","cost_usd","uncached_usd","complete"},"prices_date"}; a line is {"model","priced_as","requests","unreported","usage","hit_ratio","cost_usd","uncached_usd"}"#,
        ),
        (
            "tine fork --estimate, tine fan --estimate",
            r#"{"model","priced_as","prices_date","children","turns","output_tokens","prefix_tokens","cached_tokens","gap_tokens","launch","warmth","reason","expected_usd","low_usd","high_usd","forking_usd","later_turns_usd","output_usd"}"#,
        ),
        (
            "tine cache explain",
            r#"{"agent","name","requests":[{"number","started_at","model","verdict","usage","cost_usd","expected","exact","read","missed","missed_usd","difference","why","total","places":[{"kind","items","bytes","tokens","state","mark","hash"}],"vendor":{"answer","reason","missed_tokens"}|null,"first_event_ms"}]}"#,
        ),
        (
            "tine models",
            r#"{"date","models":[{"model","default","available","price":{"input","read","write_short","write_long","output"} in USD per million tokens|null,"context_tokens","cache_short_seconds","cache_long_seconds","source"}]}; available says where the key is from or where it is served, and is null where nothing can be asked"#,
        ),
        (
            "tine doctor, tine cluster doctor",
            r#"{"ok","checks":[{"name","status":"ok"|"warning"|"failure","detail","hint"}],"verdict"}"#,
        ),
        (
            "tine guard filter",
            r#"{"allow","reason"}; with --jsonl one a line, to new {"ok"} or {"ok":false,"error"}"#,
        ),
        (
            "tine sim serve",
            r#"{"scenario","anthropic","openai","gemini","deepseek","minimax","pid"}"#,
        ),
    ],
};
