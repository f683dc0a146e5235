"""Bodies of which it is known what is wrong with them. They are judged first: a suite that finds nothing wrong must be able to."""

import json

MESSAGES = {"model": "m", "max_tokens": 1}
CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
MARKED = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}


def messages(*turns, **more):
    roles = ("user", "assistant")
    found = [{"role": roles[at % 2], "content": content} for at, content in enumerate(turns)]
    return "/v1/messages", {**MESSAGES, "messages": found, **more}


def chat(*turns):
    return "/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}, *turns]}


def responses(*items):
    return "/responses", {"model": "m", "store": False, "input": [{"role": "user", "content": "x"}, *items]}


def gemini(*contents):
    first = {"role": "user", "parts": [{"text": "x"}]}
    return "/v1beta/models/m:generateContent", {"contents": [first, *contents]}


ASKED = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]}
ANSWERED = {"role": "tool", "tool_call_id": "a", "content": "x"}
CALLED = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
GAVE = {"type": "function_call_output", "call_id": "a", "output": "x"}
THOUGHT = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}

# A body, and a part of what must be said of it; None where nothing may be said.
EXAMPLES = [
    (messages("x"), None),
    (messages("x", [CALL], [RESULT]), None),
    (messages("x", thinking={"type": "enabled", "budget_tokens": 2000, "block_binding": {}}), None),
    (messages("x", note=1), "note: Extra inputs"),
    (messages([{"type": "text", "text": "x", "note": 1}]), "messages[0].content[0].note: Extra inputs"),
    (messages([{"type": "text", "text": " "}]), "blank text"),
    (messages("x", [CALL], "y"), "do not answer"),
    (messages("x", [CALL], [{"type": "text", "text": "y"}, RESULT]), "behind other content"),
    (messages("x", [CALL]), "the last calls are not answered"),
    (messages([MARKED] * 5), "5 marks"),
    (messages("x", max_tokens="1"), "max_tokens: Input should be a valid integer"),
    (chat(ASKED, ANSWERED), None),
    (chat({"role": "assistant", "content": "x", "reasoning_content": "y"}), None),
    (chat({"role": "assistant", "content": "x", "executed_tools": []}), "messages[1].executed_tools: Extra inputs"),
    (chat({**ASKED, "tool_calls": [{**ASKED["tool_calls"][0], "index": 0}]}, ANSWERED), "tool_calls[0].index: Extra"),
    (chat({"role": "assistant"}), "the assistant says nothing"),
    (chat(ASKED), "the last calls are not answered"),
    (chat(ANSWERED), "a result without its call"),
    (chat({**ASKED, "tool_calls": [{**ASKED["tool_calls"][0], "id": ""}]}), "empty or doubled"),
    (responses(THOUGHT, CALLED, GAVE), None),
    (responses(CALLED), "the last calls are not answered"),
    (responses({**CALLED, "note": 1}, GAVE), "input[1].note: Extra inputs"),
    (responses(THOUGHT, {"role": "user", "content": "y"}), "without the item that it led to"),
    (responses({"type": "reasoning", "id": "r", "summary": []}, CALLED, GAVE), "by its id alone"),
    (gemini(), None),
    (gemini({"role": "model", "parts": [{"text": "x", "note": 1}]}), "contents[1].parts[0].note: Extra inputs"),
    (gemini({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}), "calls are not answered"),
    (gemini({"role": "model", "parts": [{"text": ""}]}), "blank text"),
    (("/elsewhere", {}), "no vendor serves"),
]


def must_be_judged(check):
    """Fails where an example is not judged as it must be."""
    for (path, body), expected in EXAMPLES:
        _, remarks = check(path, json.dumps(body).encode())
        told = "\n".join(remarks)
        is_right = not remarks if expected is None else expected in told
        if not is_right:
            raise AssertionError(f"{path} {json.dumps(body)}: expected {expected!r}, found {told!r}")
