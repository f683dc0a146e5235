"""What no type can say of a request: every call is answered, results come first and in order, no text is blank where the vendor
refuses that, there are at most four marks and none on reasoning, and reasoning is followed by its item. Each function yields the remarks on one body."""

MARKS_MAX = 4


def of(kind):
    """Returns the check for a kind of request."""
    checks = {"messages": messages, "messages-beta": messages, "chat": chat, "responses": responses, "gemini": gemini}
    return checks.get(kind, lambda body: ())


def messages(body):
    """Anthropic Messages."""
    turns = body.get("messages", [])
    if turns and turns[0]["role"] != "user":
        yield "the first message is not the user's"
    open_calls = []
    for at, turn in enumerate(turns):
        blocks = turn["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if turn["role"] == "system":
            continue
        if not blocks:
            yield f"messages[{at}] is empty"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if turn["role"] == "user":
            yield from answered(f"messages[{at}]", open_calls, results)
            kinds = [block["type"] == "tool_result" for block in blocks]
            if kinds != sorted(kinds, reverse=True):
                yield f"messages[{at}]: a result stands behind other content"
            open_calls = []
        else:
            if open_calls:
                yield f"messages[{at}]: the calls before it are not answered"
            open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for number, block in enumerate(blocks):
            yield from blank(f"messages[{at}].content[{number}]", block)
    if open_calls:
        yield "the last calls are not answered"
    if turns and turns[-1]["role"] == "assistant" and not paused(turns[-1]):
        yield "the last message is the assistant's"
    system = body.get("system", [])
    for number, block in enumerate(system if isinstance(system, list) else []):
        yield from blank(f"system[{number}]", block)
    yield from marks(body, "cache_control")


def paused(turn):
    """Returns true where the provider asked for its own words back, to go on with a tool of its own."""
    blocks = turn["content"] if isinstance(turn["content"], list) else []
    return any(block["type"].endswith("server_tool_use") for block in blocks)


def chat(body):
    """OpenAI Chat Completions."""
    open_calls = []
    for at, turn in enumerate(body.get("messages", [])):
        place, role = f"messages[{at}]", turn["role"]
        if role == "tool":
            if not open_calls or turn["tool_call_id"] not in open_calls:
                yield f"{place}: a result without its call"
            elif turn["tool_call_id"] != open_calls[0]:
                yield f"{place}: results are not in the order of the calls"
            open_calls = [call for call in open_calls if call != turn["tool_call_id"]]
            continue
        if open_calls:
            yield f"{place}: the calls before it are not answered"
        open_calls = [call["id"] for call in turn.get("tool_calls") or []]
        if not all(open_calls) or len(set(open_calls)) < len(open_calls):
            yield f"{place}: a call's id is empty or doubled"
        if turn.get("tool_calls") == []:
            yield f"{place}: an empty list of calls"
        if role == "assistant" and turn.get("content") is None and not open_calls and not turn.get("refusal"):
            yield f"{place}: the assistant says nothing"
    if open_calls:
        yield "the last calls are not answered"
    yield from marks(body, "prompt_cache_breakpoint")


def responses(body):
    """OpenAI Responses."""
    items = body.get("input", [])
    if isinstance(items, str):
        return
    open_calls = []
    for at, item in enumerate(items):
        kind, place = item.get("type", "message"), f"input[{at}]"
        if kind == "function_call_output":
            if item["call_id"] not in open_calls:
                yield f"{place}: a result without its call"
            elif item["call_id"] != open_calls[0]:
                yield f"{place}: results are not in the order of the calls"
            open_calls = [call for call in open_calls if call != item["call_id"]]
        elif kind == "function_call":
            if not item["call_id"] or item["call_id"] in open_calls:
                yield f"{place}: a call's id is empty or doubled"
            open_calls.append(item["call_id"])
        elif item.get("role") in ("user", "system", "developer") and open_calls:
            yield f"{place}: the calls before it are not answered"
        if kind == "reasoning":
            after = items[at + 1] if at + 1 < len(items) else {}
            follows = after.get("type", "message") in ("function_call", "reasoning") or after.get("role") == "assistant"
            if not after or not (follows or after.get("type", "message").endswith("_call")):
                yield f"{place}: reasoning without the item that it led to"
            if body.get("store") is False and not (item.get("encrypted_content") or item.get("content")):
                yield f"{place}: reasoning that is not stored is sent back by its id alone"
    if open_calls:
        yield "the last calls are not answered"
    yield from marks(body, "prompt_cache_breakpoint")


def gemini(body):
    """Gemini `generateContent`."""
    contents = body.get("contents", [])
    if contents and contents[0].get("role", "user") != "user":
        yield "the first content is not the user's"
    calls = []
    for at, content in enumerate(contents):
        place, parts = f"contents[{at}]", content.get("parts") or []
        if not parts:
            yield f"{place} is empty"
        names = [part["functionResponse"].get("name") for part in parts if "functionResponse" in part]
        if content.get("role") == "model":
            calls = [part["functionCall"].get("name") for part in parts if "functionCall" in part]
        else:
            if names != calls:
                yield f"{place}: the results {names} do not answer the calls {calls}"
            kinds = ["functionResponse" in part for part in parts]
            if kinds != sorted(kinds, reverse=True):
                yield f"{place}: a result stands behind other content"
            calls = []
        for number, part in enumerate(parts):
            text = part.get("text")
            if text is not None and not text.strip() and "thoughtSignature" not in part:
                yield f"{place}.parts[{number}]: blank text"
    if calls:
        yield "the last calls are not answered"


def answered(place, calls, results):
    """The results of one message must be the calls of the message before it, in their order."""
    if sorted(calls) != sorted(results):
        yield f"{place}: the results {results} do not answer the calls {calls}"
    elif calls != results:
        yield f"{place}: results are not in the order of the calls"
    if len(set(calls)) < len(calls) or not all(calls):
        yield f"{place}: an id of the calls before it is empty or doubled"


def blank(place, block):
    """A text block must say something."""
    text = block.get("text") if isinstance(block, dict) else None
    if text is not None and not text.strip():
        yield f"{place}: blank text"


def marks(body, member):
    """At most four blocks are marked, none of them reasoning."""
    found = list(marked(body, member))
    if len(found) > MARKS_MAX:
        yield f"{len(found)} marks"
    for block in found:
        if block.get("type") in ("thinking", "redacted_thinking", "reasoning"):
            yield f"a mark on {block['type']}"


def marked(value, member):
    """Every object with this member; what a tool's input or schema holds is the user's."""
    if isinstance(value, dict):
        if value.get(member):
            yield value
        for name, inner in value.items():
            if name not in ("input", "input_schema", "arguments", "parameters") or isinstance(inner, list):
                yield from marked(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from marked(inner, member)
