"""A bare pydantic-ai agent with one tool; `pydantic_loop.py URL [--serve]`."""

import asyncio
import sys

import pydantic_ai
from pydantic_ai import Agent
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


async def shell(command: str) -> str:
    """Runs a command."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("bash", "-c", command, stdout=pipe, stderr=pipe)
    return (await process.communicate())[0].decode()


async def show(_context, events):
    """Print text as it comes."""
    async for event in events:
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            sys.stderr.write(event.part.content)
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            sys.stderr.write(event.delta.content_delta)


async def main(url):
    """Once, or a turn for each line that names a session."""
    model = OpenAIChatModel("script", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, tools=[shell])
    limits = UsageLimits(request_limit=None)
    if "--serve" not in sys.argv:
        await agent.run("go", event_stream_handler=show, usage_limits=limits)
        return
    sessions, tasks = {}, set()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print("ready", flush=True)

    async def one(name):
        history = sessions.get(name)
        done = await agent.run("go", message_history=history, event_stream_handler=show, usage_limits=limits)
        sessions[name] = done.all_messages()
        print(name, flush=True)

    while name := (await reader.readline()).decode().strip():
        tasks.add(task := asyncio.create_task(one(name)))
        task.add_done_callback(tasks.discard)


if sys.argv[1] == "--version":
    print(pydantic_ai.__version__)
else:
    asyncio.run(main(sys.argv[1]))
