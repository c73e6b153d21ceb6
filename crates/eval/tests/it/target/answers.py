"""Answers questions for the tests of targets: lines of JSON as a command, or MCP over standard input.

    answers.py command|mcp WORLD.json [FAULT]

WORLD.json maps texts to results. A fault is what goes wrong: see FAULTS below.
"""

import json
import os
import sys
import threading
import time

FAULTS = (
    "none hang slow garbage wrong_shape wrong_id die die_once error passing backwards noise huge null_ids "
    "asks_back bad_greeting orphan"
).split()

kind, path = sys.argv[1], sys.argv[2]
fault = sys.argv[3] if len(sys.argv) > 3 else "none"
assert fault in FAULTS, fault
with open(path, encoding="utf-8") as file:
    world = json.load(file)
lock = threading.Lock()
asked = 0


def say(message):
    with lock:
        sys.stdout.write(message if isinstance(message, str) else json.dumps(message))
        sys.stdout.write("\n")
        sys.stdout.flush()


def found(text, k):
    return {"results": world[text][:k], "timings": {"dense_ms": 1.5, "total_ms": 3}}


def answered(number, text, k):
    """The answer of the kind that is spoken."""
    answer = found(text, k)
    if kind == "command":
        return {"id": number, **answer}
    content = [{"type": "text", "text": json.dumps(answer)}]
    result = {"content": content}
    if len(text) % 2 == 0:
        result = {"content": [], "structuredContent": answer}
    return {"jsonrpc": "2.0", "id": number, "result": result}


def failed(number, kind_of_error, message):
    if kind == "command":
        return {"id": number, "error": {"kind": kind_of_error, "message": message}}
    return {
        "jsonrpc": "2.0",
        "id": number,
        "result": {"isError": True, "content": [{"type": "text", "text": json.dumps(
            {"error": {"kind": kind_of_error, "message": message}})}]},
    }


waiting = []


def answer(number, text, k):
    global asked
    asked += 1
    if fault == "hang":
        return
    if fault == "slow":
        time.sleep(5)
    if fault == "garbage":
        return say("<html>it works</html>")
    if fault == "wrong_shape":
        if kind == "command":
            return say({"id": number, "ok": True})
        return say({"jsonrpc": "2.0", "id": number, "result": {"structuredContent": {"ok": True}}})
    if fault == "wrong_id":
        number += 1000
    if fault == "die":
        print("it is broken", file=sys.stderr, flush=True)
        os._exit(3)
    if fault == "die_once":
        marker = path + ".died"
        if not os.path.exists(marker):
            open(marker, "w").close()
            os._exit(1)
    if fault == "error":
        return say(failed(number, "bad_request", "no such index"))
    if fault == "passing" and asked == 1:
        return say(failed(number, "timeout", "try again"))
    if fault == "noise":
        print("a remark " * 1000, file=sys.stderr, flush=True)
    if fault == "huge":
        return say(" " * (33 << 20))
    if fault == "null_ids":
        world[text] = [{"document": None}]
    if fault == "asks_back" and kind == "mcp":
        say({"jsonrpc": "2.0", "id": "s1", "method": "ping"})
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        reply = json.loads(sys.stdin.readline())
        assert reply == {"jsonrpc": "2.0", "id": "s1", "result": {}}, reply
    if fault == "backwards":
        # Two questions are answered in the other order.
        waiting.append((number, text, k))
        if len(waiting) < 2:
            return
        for one in reversed(waiting):
            say(answered(*one))
        waiting.clear()
        return
    say(answered(number, text, k))


if fault == "orphan":
    with open(path + ".pid", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))

for line in sys.stdin:
    message = json.loads(line)
    if kind == "command":
        answer(message["id"], message["query"], message["k"])
    elif message.get("method") == "initialize":
        assert message["params"]["clientInfo"]["name"] == "gbrain"
        if fault == "bad_greeting":
            say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "too old"}})
            continue
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "fake", "version": "1"}}
        say({"jsonrpc": "2.0", "id": message["id"], "result": result})
    elif message.get("method") == "tools/call":
        arguments = message["params"]["arguments"]
        if message["params"]["name"] != "find":
            error = {"code": -32601, "message": "no such tool"}
            say({"jsonrpc": "2.0", "id": message["id"], "error": error})
            continue
        answer(message["id"], arguments["text"], arguments["n"])
