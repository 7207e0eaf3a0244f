"""The bare floor: the same work by a script that keeps nothing, asks nobody and serves no one.

Run as `python -m bench.floors oneshot|loop|stream URL [N]`; prints what it used as JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time


def used() -> float:
    """CPU ms of this process and its children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return (own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime) * 1000


async def ask(client, url: str, messages: list, on_text=None) -> dict:
    """One streamed chat completion: text, and the tool call if there is one."""
    body = {"model": "script", "stream": True, "messages": messages, "tools": []}
    text, calls = [], {}
    async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            choices = json.loads(line[6:]).get("choices") or []
            delta = choices[0].get("delta", {}) if choices else {}
            if delta.get("content"):
                text.append(delta["content"])
                if on_text:
                    on_text(delta["content"])
            for call in delta.get("tool_calls") or []:
                known = calls.setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
                known["id"] = call.get("id") or known["id"]
                known["name"] = call["function"].get("name") or known["name"]
                known["arguments"] += call["function"].get("arguments") or ""
    return {"text": "".join(text), "calls": list(calls.values())}


async def one_turn(client, url: str) -> int:
    """Ask, run what is asked for, ask again, until there is text; returns the steps."""
    messages: list = [{"role": "user", "content": "go"}]
    steps = 0
    while True:
        answer = await ask(client, url, messages)
        steps += 1
        if not answer["calls"]:
            return steps
        calls = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in answer["calls"]
        ]
        messages.append({"role": "assistant", "tool_calls": calls})
        for call in answer["calls"]:
            process = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                json.loads(call["arguments"])["command"],
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate()
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": out.decode()})


async def main(what: str, url: str, turns: int) -> None:
    """Do one of the floors."""
    import httpx2

    async with httpx2.AsyncClient(timeout=60) as client:
        if what == "oneshot":
            await ask(client, url, [{"role": "user", "content": "go"}], lambda text: sys.stdout.write(text))
            return
        if what == "stream":
            await ask(client, url, [{"role": "user", "content": "go"}])
            before, began = used(), time.perf_counter()
            for _ in range(turns):
                await ask(client, url, [{"role": "user", "content": "go"}])
            print(json.dumps({"cpu_ms": used() - before, "wall_ms": (time.perf_counter() - began) * 1000}))
            return
        await one_turn(client, url)
        before, began = used(), time.perf_counter()
        steps = sum([await one_turn(client, url) for _ in range(turns)])
        wall = (time.perf_counter() - began) * 1000
        print(json.dumps({"cpu_ms": used() - before, "wall_ms": wall, "steps": steps}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1))
