"""The bare floor: ask, run what is asked for, ask again; `bare_loop.py URL [--serve]`."""

import asyncio
import json
import sys

TOOLS = [{"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}]


async def ask(client, url, messages):
    """One streamed chat completion, printed as it comes; gives its tool calls."""
    calls = {}
    body = {"model": "script", "stream": True, "messages": messages, "tools": TOOLS}
    async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            choices = json.loads(line[6:]).get("choices") or []
            delta = choices[0].get("delta", {}) if choices else {}
            if delta.get("content"):
                sys.stderr.write(delta["content"])
            for call in delta.get("tool_calls") or []:
                known = calls.setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
                known["id"] = call.get("id") or known["id"]
                known["name"] = call["function"].get("name") or known["name"]
                known["arguments"] += call["function"].get("arguments") or ""
    return [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in calls.values()
    ]


async def turn(client, url, messages):
    """Until there is nothing to run."""
    messages.append({"role": "user", "content": "go"})
    while calls := await ask(client, url, messages):
        messages.append({"role": "assistant", "tool_calls": calls})
        for call in calls:
            command = json.loads(call["function"]["arguments"])["command"]
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec("bash", "-c", command, stdout=pipe, stderr=pipe)
            out, _ = await process.communicate()
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": out.decode()})


async def serve(client, url):
    """A turn for each line that names a session."""
    sessions, tasks = {}, set()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print("ready", flush=True)

    async def one(name):
        await turn(client, url, sessions.setdefault(name, []))
        print(name, flush=True)

    while name := (await reader.readline()).decode().strip():
        tasks.add(task := asyncio.create_task(one(name)))
        task.add_done_callback(tasks.discard)


async def main(url):
    """Once, or for as long as there are lines."""
    import httpx2

    async with httpx2.AsyncClient(timeout=60) as client:
        await (serve(client, url) if "--serve" in sys.argv else turn(client, url, []))


asyncio.run(main(sys.argv[1]))
