"""Holds the bodies that tests collect against the vendors' own types.

    validate.py DIRECTORY

A file of the directory has a line of JSON that says what the body is (`path`, `host` and `headers` of a request, `reply` and `stream`
of a reply of the simulator), and then the body. Members of requests outside the vendors' types are refused, unless `exceptions.py`
names them. Prints how many there were, and what is wrong with one body of each sort; fails where anything is.
"""

import collections
import json
import multiprocessing
import pathlib
import re
import sys

import examples
import exceptions
import pydantic
import semantics
import vendor_types

# Sorts of remarks that are shown whole.
SHOWN_MAX = 40

# What the types of the SDKs no longer have, and what the API's version of 2023 takes.
OLD_VERSION = "2023-06-01"
GONE = [f"{name}: Extra inputs are not permitted" for name in ("temperature", "top_p", "top_k")]

# A place or an id that differs from body to body.
VARIES = re.compile(r"\[\d+\]|'[^']*'")


def kind_of(path):
    """Returns the kind of request that is sent to a path; None where nothing is known of it."""
    path = path.split("?")[0]
    ends = {
        "/messages": "messages",
        "anthropic": "messages",
        "/count_tokens": "count-tokens",
        "/chat/completions": "chat",
        "openai-chat": "chat",
        "openai-chat-parts": "chat",
        "/responses": "responses",
        "openai-responses": "responses",
        ":generateContent": "gemini",
        ":streamGenerateContent": "gemini",
        "gemini": "gemini",
        "/cachedContents": "cached-content",
    }
    if "/cachedContents/" in path:
        return "cached-content"
    return next((kind for end, kind in ends.items() if path.endswith(end)), None)


def check(path, body, host=None, headers=()):
    """Returns the kind of a request, and the remarks on its body."""
    kind = kind_of(path)
    if kind is None:
        return "unknown", [f"no vendor serves {path}"]
    try:
        parsed = json.loads(body)
        is_stream = parsed.get("stream") is True
        is_changed = exceptions.take_out(kind, host, parsed)
        if kind == "messages" and dict(headers).get("anthropic-version") == OLD_VERSION:
            exceptions.of_version_before(parsed)
            is_changed = True
        if is_changed:
            body = json.dumps(parsed)
        remarks = list(semantics.of(kind)(parsed))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return kind, [f"the body cannot be followed: {error!r}"]
    wrong = type_remarks(kind, is_stream, body)
    if kind == "messages" and wrong:
        # What a beta header asks for is in the types of the beta alone.
        wrong = min(wrong, type_remarks("messages-beta", is_stream, body), key=len)
        # Where no server was involved, nothing says the version.
        if dict(headers).get("anthropic-version", OLD_VERSION) == OLD_VERSION:
            wrong = [remark for remark in wrong if remark not in GONE]
    return kind, wrong + remarks


def type_remarks(kind, is_stream, body):
    """Returns what the types of a kind refuse of a body."""
    try:
        vendor_types.request(kind, is_stream).validate_json(body)
        return []
    except pydantic.ValidationError as error:
        parsed = json.loads(body)
        return sorted({f"{place(each['loc'], parsed)}: {each['msg']}" for each in sharpest(error.errors(include_input=False))})


def sharpest(errors):
    """Returns the errors of the variants that the body means: not of those whose `type` or `role` is another."""
    other = [each["loc"][:-1] for each in errors if each["type"] == "literal_error" and each["loc"][-1] in ("type", "role", "stream")]
    kept = [each for each in errors if not any(each["loc"][: len(loc)] == loc for loc in other)]
    return kept or errors


def place(location, value):
    """Returns a path such as `messages[2].content[0].text`, by following a location through the body; the names of variants that stand
    in it are left out."""
    text, is_fresh = "", True
    for at, part in enumerate(location):
        is_last = at + 1 == len(location)
        if isinstance(part, int):
            text += f"[{part}]"
            value, is_fresh = (value[part] if isinstance(value, list) and part < len(value) else None), True
            continue
        if isinstance(value, dict) and is_fresh and part in (value.get("type"), value.get("role")) and not is_last:
            is_fresh = False
        elif isinstance(value, dict) and (part in value or is_last):
            text += f".{part}"
            value, is_fresh = value.get(part), True
    return text.removeprefix(".")


def stripped(text):
    """Returns a remark without positions and ids."""
    return VARIES.sub(lambda found: "[]" if found[0].startswith("[") else "'…'", text)


def check_reply(kind, is_stream, body):
    """Returns what is wrong with a reply of the simulator by the vendor's types for replies."""
    pieces = [body]
    if is_stream:
        lines = body.decode().splitlines()
        pieces = [line.removeprefix("data: ") for line in lines if line.startswith("data: ") and line != "data: [DONE]"]
    if body.startswith(b"["):
        # Gemini's stream is one list where no events were asked for.
        pieces = [json.dumps(piece) for piece in json.loads(body)]
    remarks = []
    for piece in pieces:
        try:
            vendor_types.reply(kind, is_stream).validate_json(piece)
        except pydantic.ValidationError as error:
            parsed, errors = json.loads(piece), sharpest(error.errors(include_input=False))
            remarks += sorted({f"{place(each['loc'], parsed)}: {each['msg']}" for each in errors})
    return remarks


def read(file):
    """Returns the kind of a collected body, and the remarks on it."""
    head, _, body = file.read_bytes().partition(b"\n")
    head = json.loads(head)
    if "reply" in head:
        return f"reply of {head['reply']}", check_reply(head["reply"], head["stream"], body)
    return check(head["path"], body, head["host"], head["headers"])


def main(directory):
    """Returns the exit code."""
    examples.must_be_judged(check)
    bodies, sorts, shown = collections.Counter(), collections.Counter(), {}
    files = [file for file in sorted(pathlib.Path(directory).iterdir()) if not file.suffix]
    # The validators are made by now, so each process has them.
    with multiprocessing.Pool() as pool:
        judged = pool.map(read, files, chunksize=64)
    for file, (kind, remarks) in zip(files, judged):
        bodies[kind] += 1
        for sort, remark in {(kind, stripped(remark)): remark for remark in remarks}.items():
            sorts[sort] += 1
            shown.setdefault(sort, (file, remark))
    print(f"{len(files)} bodies:", ", ".join(f"{kind} {count}" for kind, count in sorted(bodies.items())))
    if not files:
        print("error: no test sent a request")
        return 1
    for (kind, sort), count in sorts.most_common(SHOWN_MAX):
        file, remark = shown[kind, sort]
        print(f"error: {kind}: {remark}\n       {count} bodies; one is {file}")
    if len(sorts) > SHOWN_MAX:
        print(f"and {len(sorts) - SHOWN_MAX} sorts more")
    return 1 if sorts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
