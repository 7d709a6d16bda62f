"""The official Python client, before and since its version 2. Requests are lines of JSON: [id, method, params]."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import mcp
from mcp import ClientSession, StdioServerParameters, types


async def open_link(_context, params):
    say({"link": params.url})
    return types.ElicitResult(action="accept")


@asynccontextmanager
async def connect(opens_links, command, args):
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    callback = open_link if opens_links else None
    if hasattr(mcp, "Client"):
        async with mcp.Client(server, elicitation_callback=callback) as client:
            yield client
    else:
        async with mcp.stdio_client(server) as streams, ClientSession(*streams, elicitation_callback=callback) as session:
            await session.initialize()
            yield session


def say(message):
    print(json.dumps(message), flush=True)


async def main():
    async with connect(sys.argv[1] == "links", sys.argv[2], sys.argv[3:]) as client:
        say({"ready": True})

        async def progress(done, _total, message):
            say({"progress": done, "message": message})

        async def answer(number, method, params):
            methods = {
                "tools": lambda: client.list_tools(),
                "call": lambda: client.call_tool(params["name"], params["arguments"], progress_callback=progress),
                "read": lambda: client.read_resource(params["uri"]),
                "prompt": lambda: client.get_prompt(params["name"], params["arguments"]),
            }
            try:
                result = await methods[method]()
                say({"id": number, "result": result.model_dump(mode="json", by_alias=True, exclude_none=True)})
            except asyncio.CancelledError:
                say({"id": number, "error": "cancelled"})
            except Exception as error:
                say({"id": number, "error": str(error)})

        running = {}
        while line := await asyncio.to_thread(sys.stdin.readline):
            number, method, params = json.loads(line)
            if method == "cancel":
                running[params].cancel()
            else:
                running[number] = asyncio.create_task(answer(number, method, params))


asyncio.run(main())
