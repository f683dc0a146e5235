"""Plays the vendors' replies of `replies/` to the real program, and looks at what it makes of each.

    replay.py TINE [--write]

A server on loopback stands for the vendor: the first request gets the reply, later ones a plain answer. Where the vendor takes back only
members that it knows, the server refuses others in the vendor's words. Each reply is met by `tine run`, and then by `tine run --resume`.
What came of the two runs, and what the last request says of the reply, must be what stands in `comes_out`; every request that the
server took must be valid for the vendor. `--write` writes what came out into the files, to be read and judged by a person.
"""

import concurrent.futures
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import tomllib

import validate

REPLIES = pathlib.Path(__file__).parent / "replies"

# The provider and the variable for its address, by host; others are reached as any compatible server is.
PROVIDERS = {
    ("api.anthropic.com", "anthropic"): ("anthropic", "ANTHROPIC", ""),
    ("api.openai.com", "openai-chat"): ("openai-chat", "OPENAI", "/v1"),
    ("api.openai.com", "openai-responses"): ("openai", "OPENAI", "/v1"),
    ("litellm.example.org", "openai-responses"): ("openai", "OPENAI", "/v1"),
    ("generativelanguage.googleapis.com", "gemini"): ("gemini", "GEMINI", ""),
    ("api.deepseek.com", "openai-chat"): ("deepseek", "DEEPSEEK", ""),
}

# Members of the model's messages that a strict host takes back, and of its calls.
MESSAGE = {"role", "content", "name", "refusal", "tool_calls"}
CALL = {"id", "type", "function"}
OWN = {"api.groq.com": set(), "api.mistral.ai": {"prefix"}, "api.cerebras.ai": {"reasoning"}, "api.openai.com": {"audio", "function_call"}}

PLAIN = {
    "anthropic": {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}},
    "openai-chat": {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
    "openai-responses": {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [{"id": "msg_z", "type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Done."}], "role": "model"}, "finishReason": "STOP", "index": 0}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "m", "responseId": "r"},
}


class Case:
    """One reply, and what was sent to its server."""

    def __init__(self, vendor, reply):
        self.host, self.format, self.reply = vendor["host"], vendor["format"], reply
        self.bodies, self.refused, self.lock = [], 0, threading.Lock()

    def answer(self, path, body):
        """Returns the status, the kind and the bytes of the answer to a request."""
        with self.lock:
            strange = stranger(self.host, body) if self.format == "openai-chat" else None
            if strange:
                self.refused += 1
                status, words = refusal(self.host, *strange)
                return status, "application/json", json.dumps(words).encode()
            self.bodies.append((path, body))
            is_first = len(self.bodies) == 1
        if not is_first:
            return 200, "application/json", json.dumps(PLAIN[self.format]).encode()
        if "whole" in self.reply:
            return self.reply.get("status", 200), "application/json", self.reply["whole"].encode()
        return 200, "text/event-stream", stream(self.format, self.reply).encode()


def stream(format, reply):
    """Returns the bytes of a stream."""
    if "raw" in reply:
        return reply["raw"]
    named = format in ("anthropic", "openai-responses")
    kind = lambda data: f"event: {json.loads(data)['type']}\n" if named else ""
    return "".join(f"{kind(data)}data: {data}\n\n" for data in reply["events"])


def stranger(host, body):
    """Returns the place of the first member that a strict host does not take: the message, the call in it and the name."""
    if host not in OWN:
        return None
    body = json.loads(body)
    if host == "api.mistral.ai" and "stream_options" in body:
        return None, None, "stream_options"
    for at, turn in enumerate(body["messages"]):
        if turn["role"] == "assistant":
            for name in turn.keys() - MESSAGE - OWN[host]:
                return at, None, name
            for number, call in enumerate(turn.get("tool_calls") or []):
                for name in call.keys() - CALL:
                    return at, number, name
    return None


def refusal(host, at, call, name):
    """Returns a refusal in a host's words: its status and its body."""
    dotted = f"messages.{at}" + (f".tool_calls.{call}" if call is not None else "")
    if host == "api.groq.com":
        text = f"'messages.{at}' : for 'role:assistant' the following must be satisfied[('{dotted}' : property '{name}' is unsupported)]"
        return 400, {"error": {"message": text, "type": "invalid_request_error"}}
    if host == "api.mistral.ai":
        way = ["messages", at, "assistant", *(["tool_calls", call] if call is not None else []), name]
        place = ["body", *(way if at is not None else [name, "include_usage"])]
        detail = [{"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted", "input": None}]
        return 422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error", "param": None, "code": None}
    if host == "api.cerebras.ai":
        place = f"messages.{at}.assistant{dotted.removeprefix(f'messages.{at}')}.{name}"
        return 400, {"message": f"body.{place}: property '{place}' is unsupported", "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"}
    place = f"messages[{at}]" + (f".tool_calls[{call}]" if call is not None else "") + f".{name}"
    return 400, {"error": {"message": f"Unknown parameter: '{place}'.", "type": "invalid_request_error", "param": place, "code": "unknown_parameter"}}


def serve(cases):
    """Starts the server; a case's address is `/NUMBER`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            number, _, path = self.path.removeprefix("/").partition("/")
            body = self.rfile.read(int(self.headers["content-length"]))
            status, kind, text = cases[int(number)].answer("/" + path, body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def play(tine, address, number, case):
    """Runs both turns; returns what is to be seen of them, a line each."""
    provider, prefix, path = PROVIDERS.get((case.host, case.format), ("openai-compat", "OPENAI_COMPAT", "/v1"))
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TINE_HOME": f"{home}/tine", f"{prefix}_BASE_URL": f"{address}/{number}{path}", f"{prefix}_API_KEY": "k"}
        lines = []

        def run(*words):
            command = [tine, "run", "--json", "--max-turns", "4", *words]
            done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=120)
            result = json.loads(done.stdout) if done.stdout.startswith("{") else {}
            error = next((line for line in done.stderr.splitlines() if line.startswith("error:")), "")
            text = (result.get("text") or "").replace("\n", "\\n")
            lines.append(f"{result.get('outcome')} {done.returncode} after {len(case.bodies)} requests: {text}{' ' + error if error else ''}")
            return result

        first = run("-m", f"{provider}/m", "--permission-mode", "read-only", "--system", "s", "go")
        if first.get("agent"):
            run("--resume", first["agent"], "more")
        if case.refused:
            lines.append(f"refused on the way: {case.refused}")
        lines += [f"next: {item}" for item in sent_back(case.format, json.loads(case.bodies[-1][1]))]
        return "\n".join(lines)


def sent_back(format, body):
    """Returns the model's own messages or items of a request."""
    if format == "openai-responses":
        kept = [item for item in body["input"] if item.get("role", "assistant") == "assistant" and item.get("type") != "function_call_output"]
    else:
        turns = body["contents" if format == "gemini" else "messages"]
        kept = [turn for turn in turns if turn.get("role") in ("assistant", "model")]
    return [re.sub(r',?"cache_control":\{[^}]*\}', "", json.dumps(item, ensure_ascii=False, separators=(",", ":"))) for item in kept]


def main(tine, *options):
    """Returns the exit code."""
    files = sorted(REPLIES.glob("*.toml"))
    vendors = {file: tomllib.loads(file.read_text()) for file in files}
    cases = [(file, Case(vendor, reply)) for file, vendor in vendors.items() for reply in vendor["reply"]]
    address = serve([case for _, case in cases])
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        found = list(pool.map(lambda each: play(tine, address, each[0], each[1][1]), enumerate(cases)))
    wrong = 0
    for (file, case), came in zip(cases, found):
        expected = case.reply["comes_out"].strip()
        remarks = [remark for path, body in case.bodies for remark in validate.check(path, body, case.host)[1]]
        if came != expected or remarks:
            wrong += 1
            print(f"error: {file.name}: {case.reply['name']}\n  expected:\n{expected}\n  came out:\n{came}")
            print("".join(f"  invalid: {remark}\n" for remark in remarks), end="")
    if "--write" in options:
        for file in files:
            text = file.read_text()
            pieces = re.split(r"^comes_out = '''.*?'''$", text, flags=re.M | re.S)
            mine = [came for (of, _), came in zip(cases, found) if of == file]
            file.write_text(pieces[0] + "".join(f"comes_out = '''\n{came}\n'''{piece}" for came, piece in zip(mine, pieces[1:])))
    print(f"{len(cases)} replies of {len(files)} vendors, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
