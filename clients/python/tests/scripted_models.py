"""For tests only: models of other frameworks that use the tool `pay` once, and then are done."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

ORDER = {"invoice": 1042, "cents": 10_000}


def agno_model() -> Any:
    from agno.models.base import Model
    from agno.models.response import ModelResponse

    function = {"name": "pay", "arguments": json.dumps(ORDER)}

    @dataclasses.dataclass
    class Scripted(Model):
        id: str = "scripted"
        turn: int = 0

        def invoke(self, *_: Any, **__: Any) -> ModelResponse:
            self.turn += 1
            if self.turn > 1:
                return ModelResponse(role="assistant", content="done")
            call = {"id": "call_1", "type": "function", "function": function}
            return ModelResponse(role="assistant", tool_calls=[call])

        async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
            return self.invoke()

        def invoke_stream(self, *_: Any, **__: Any) -> Any:
            yield self.invoke()

        async def ainvoke_stream(self, *_: Any, **__: Any) -> Any:
            yield self.invoke()

        def _parse_provider_response(self, response: Any, **_: Any) -> Any:
            return response

        def _parse_provider_response_delta(self, response: Any) -> Any:
            return response

    return Scripted()


def strands_model() -> Any:
    from strands.models import Model

    def block(start: dict[str, Any], delta: dict[str, Any], stop: str) -> list[dict[str, Any]]:
        return [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockStart": {"start": start}},
            {"contentBlockDelta": {"delta": delta}},
            {"contentBlockStop": {}},
            {"messageStop": {"stopReason": stop}},
        ]

    class Scripted(Model):
        turn = 0

        def update_config(self, **_: Any) -> None:
            pass

        def get_config(self) -> dict[str, Any]:
            return {}

        async def structured_output(self, *_: Any, **__: Any) -> Any:
            yield {}

        async def stream(self, *_: Any, **__: Any) -> Any:
            self.turn += 1
            use = {"toolUse": {"toolUseId": "call_1", "name": "pay"}}
            call = block(use, {"toolUse": {"input": json.dumps(ORDER)}}, "tool_use")
            for event in call if self.turn == 1 else block({}, {"text": "done"}, "end_turn"):
                yield event

    return Scripted()


def haystack_model() -> Any:
    from haystack import component
    from haystack.dataclasses import ChatMessage, ToolCall

    class Scripted:
        turn = 0

        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
            self.turn += 1
            call = ToolCall(tool_name="pay", arguments=ORDER, id="call_1")
            used = ChatMessage.from_assistant(tool_calls=[call])
            return {"replies": [used if self.turn == 1 else ChatMessage.from_assistant("done")]}

    return component(Scripted)()


def llama_index_model() -> Any:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.llms import MockLLM
    from llama_index.core.llms.llm import ToolSelection

    class Scripted(MockLLM):
        turn: int = 0

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_function_calling_model=True)

        async def achat_with_tools(self, *_: Any, **__: Any) -> ChatResponse:
            self.turn += 1
            return ChatResponse(message=ChatMessage(role="assistant", content="done"))

        def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[ToolSelection]:
            call = ToolSelection(tool_id="call_1", tool_name="pay", tool_kwargs=ORDER)
            return [call] if self.turn == 1 else []

    return Scripted()


def smolagents_model() -> Any:
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
        Model,
    )

    class Scripted(Model):
        turn = 0

        def generate(self, *_: Any, **__: Any) -> ChatMessage:
            self.turn += 1
            name, arguments = ("pay", ORDER) if self.turn == 1 else ("final_answer", {"answer": "done"})
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(id=f"call_{self.turn}", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    return Scripted()
