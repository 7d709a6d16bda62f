"""Real exporters: what they tell of a tool that ran is an attestation that says where it comes from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import Model, ModelResponse, Runner, Usage, function_tool
from conftest import API_KEY, BASE_URL
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel

from countersign_client import Countersign, hash_inputs


def provider_of(name: str) -> TracerProvider:
    exporter = OTLPSpanExporter(
        f"{BASE_URL}/v1/otlp/v1/traces", headers={"Authorization": f"Bearer {API_KEY}"}, compression=Compression.Gzip
    )
    provider = TracerProvider(resource=Resource.create({"countersign.agent": name}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def run_pydantic_ai(provider: TracerProvider) -> dict[str, Any]:
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    agent = Agent(TestModel(), name="payer")

    @agent.tool_plain
    def pay(to: str, cents: int) -> str:
        return "paid"

    agent.run_sync("go")
    return {"to": "a", "cents": 0}


class Scripted(Model):
    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        if any(isinstance(one, dict) and one.get("type") == "function_call_output" for one in input):
            text = ResponseOutputText(annotations=[], text="done", type="output_text")
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)
        arguments = json.dumps({"to": "Ada", "cents": 100})
        call = ResponseFunctionToolCall(arguments=arguments, call_id="call-1", name="pay", type="function_call")
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def run_openai_agents(provider: TracerProvider) -> dict[str, Any]:
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)

    @function_tool
    def pay(to: str, cents: int) -> str:
        return "paid"

    agent = OpenAIAgent(name="payer", instructions="", model=Scripted(), tools=[pay])
    asyncio.run(Runner.run(agent, "go"))
    return {"to": "Ada", "cents": 100}


@pytest.mark.parametrize("run", [run_pydantic_ai, run_openai_agents])
def test_a_tool_is_recorded_as_reported_by_a_trace(run: Callable[[TracerProvider], dict[str, Any]]) -> None:
    name = f"telemetry-{run.__name__.removeprefix('run_').replace('_', '-')}"
    provider = provider_of(name)
    inputs = run(provider)
    provider.shutdown()
    with Countersign(BASE_URL, API_KEY) as client:
        made = client.call("GET", f"/v1/attestations?agent_slug={name}")["attestations"]
    [tool] = [one for one in made if one["action"] == "Use the tool pay"]
    assert tool["inputs_hash"] == hash_inputs(inputs)
    assert tool["is_public"] is False
    assert "reported_by_trace" in [one["code"] for one in tool["warnings"]]
    assert "Invoke the agent payer" in [one["action"] for one in made]
