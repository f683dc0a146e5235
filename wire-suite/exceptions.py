"""What bodies may hold outside the vendors' types, and why. Everything else is a failure.

Each function takes one such thing out of a body before it is judged, and returns true where it was there. `EXCEPTIONS` says for which
kind of request and which hosts each counts, with the reason. A test's server on loopback stands for an engine, whose rules are looser
than those of any vendor: engines pass over members that they do not know.
"""

LOOPBACK = ("127.0.0.1", "localhost", None)


def assistants(body):
    """The model's own messages of a chat."""
    turns = body.get("messages")
    return [turn for turn in turns if turn.get("role") == "assistant"] if isinstance(turns, list) else []


def without(member):
    """Takes a member out of the model's messages."""

    def take(body):
        return any([turn.pop(member, without) is not without for turn in assistants(body)])

    return take


def signature_of_calls(body):
    """Takes Google's signatures out of calls."""
    calls = [call for turn in assistants(body) for call in turn.get("tool_calls") or []]
    return any([call.pop("extra_content", None) is not None for call in calls])


def parts_of_mistral(body):
    """Takes Mistral's own parts out of contents that are lists."""
    found = False
    for turn in assistants(body):
        if isinstance(turn.get("content"), list):
            kept = [part for part in turn["content"] if part.get("type") not in ("thinking", "reference")]
            found = found or kept != turn["content"]
            turn["content"] = kept
    return found


def calls_without_type(body):
    """Gives Mistral's calls the type that its own types take for granted."""
    calls = [call for turn in assistants(body) for call in turn.get("tool_calls") or []]
    return any([call.setdefault("type", "function") and True for call in calls if "type" not in call])


def empty_calls(body):
    """Takes out lists of no calls."""
    return any([turn.pop("tool_calls") == [] for turn in assistants(body) if turn.get("tool_calls") == []])


def of_version_before(body):
    """Puts texts in the place of documents that the model said, and takes citations out of texts that the user said. Anthropic's version
    of 2023 takes both; the SDKs have the types of the present version."""
    for turn in body.get("messages", []):
        content = turn.get("content")
        for block in content if isinstance(content, list) else []:
            if turn["role"] == "user" and block.get("type") == "text":
                block.pop("citations", None)
            elif turn["role"] == "assistant" and block.get("type") == "document":
                block.clear()
                block |= {"type": "text", "text": "a document"}


def message_without_id(body):
    """Gives the model's messages the members that a reply has and a client's own rendering has not."""
    found = False
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        if item.get("role") == "assistant" and item.get("type") == "message" and "id" not in item:
            found = True
            item |= {"id": "msg_1", "status": "completed"}
            for part in item["content"]:
                part.setdefault("annotations", [])
    return found


def members_of_others(body):
    """Takes out the members that nobody knows, by the names that tests give them: `later`, `later_item` and `x`."""
    found = body.pop("later", None) is not None
    items = body.get("input")
    if isinstance(items, list) and any(item.get("type") == "later_item" for item in items):
        found, body["input"] = True, [item for item in items if item.get("type") != "later_item"]
    for name in ("messages", "contents"):
        turns = body.get(name)
        turns = turns if isinstance(turns, list) else []
        found = any([turn.pop("x", None) is not None for turn in turns]) or found
    return found


# (kind of request, hosts, what is taken out, reason)
EXCEPTIONS = [
    (
        "chat",
        ("api.deepseek.com", *LOOPBACK),
        without("reasoning_content"),
        "DeepSeek refuses a turn with calls whose reasoning is not sent back (Thinking Mode, Tool Calls); engines put it into the prompt",
    ),
    ("chat", LOOPBACK, without("annotations"), "vLLM and others say it, and pass over it when it comes back"),
    *[
        ("chat", LOOPBACK, without(member), "a server of which nothing is known gets back what it said, until it refuses it")
        for member in ("reasoning", "channel", "sim_unknown_field")
    ],
    ("chat", ("api.cerebras.ai", "openrouter.ai"), without("reasoning"), "both want it back (Cerebras, Reasoning; OpenRouter, Reasoning Tokens)"),
    ("chat", ("openrouter.ai",), without("reasoning_details"), "wanted back unchanged (OpenRouter, Preserving Reasoning Blocks)"),
    ("chat", ("generativelanguage.googleapis.com",), signature_of_calls, "wanted back (Google, Thought Signatures, OpenAI compatibility)"),
    ("chat", ("api.mistral.ai",), calls_without_type, "it says calls so, and takes them so (Mistral, Function calling: ToolCall.type)"),
    ("chat", LOOPBACK, empty_calls, "vLLM says an empty list where there are no calls, and takes it back"),
    ("chat", ("api.mistral.ai", *LOOPBACK), parts_of_mistral, "in Mistral's own types, and in no others (Mistral, Reasoning; Citations)"),
    *[
        (kind, (None,), members_of_others, "a fork sends on what the program that it forks has sent, known or not (the library's test takes such requests over)")
        for kind in ("messages", "chat", "responses", "gemini")
    ],
    (
        "responses",
        None,
        message_without_id,
        "the API takes the model's words without an id of their own, as Codex sends them (codex-rs, ResponseItem::Message)",
    ),
]


def take_out(kind, host, body):
    """Takes out of a body what may be there. Returns true where anything was."""
    fitting = [take for of, hosts, take, _ in EXCEPTIONS if of == kind and (hosts is None or host in hosts)]
    return any([take(body) for take in fitting])
