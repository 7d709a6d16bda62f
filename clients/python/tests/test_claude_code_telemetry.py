"""Claude Code's own telemetry, from the program that the SDK brings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import claude_agent_sdk
import pytest
from conftest import API_KEY, BASE_URL
from test_claude_agent_sdk import scripted

from countersign_client import Countersign, hash_inputs

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled/claude"
SENDING = {
    "logs": {"OTEL_LOGS_EXPORTER": "otlp", "OTEL_LOG_TOOL_DETAILS": "1"},
    "traces": {"OTEL_TRACES_EXPORTER": "otlp", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1"},
}


@pytest.mark.parametrize("signal", SENDING)
@pytest.mark.parametrize("protocol", ["http/json", "http/protobuf"])
def test_a_tool_is_recorded_with_its_outcome(signal: str, protocol: str, tmp_path: Path) -> None:
    name = f"claude-{signal}-{protocol.removeprefix('http/')}"
    with scripted(["true", "false"]) as api:
        env = {
            "PATH": os.environ["PATH"], "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "configuration"),
            "ANTHROPIC_BASE_URL": api, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1", "CLAUDE_CODE_ENABLE_TELEMETRY": "1", **SENDING[signal],
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{BASE_URL}/v1/otlp",
            "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {API_KEY}",
            "OTEL_RESOURCE_ATTRIBUTES": f"countersign.agent={name}",
        }
        command = [str(PROGRAM), "-p", "go", "--model", "scripted", "--dangerously-skip-permissions"]
        ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    with Countersign(BASE_URL, API_KEY) as client:
        listed = client.call("GET", f"/v1/attestations?agent_slug={name}")["attestations"]
        tools = [one["attestation_id"] for one in listed if one["action"] == "Use the tool Bash"]
        made = [client.call("GET", f"/v1/verify/{one}") for one in tools]
    assert sorted(one["metadata"]["outcome"] for one in made) == ["completed", "failed"]
    if signal == "logs":
        hashes = sorted(hash_inputs({"command": command}) for command in ("true", "false"))
        assert sorted(one["inputs_hash"] for one in made) == hashes
        assert sorted(one["metadata"]["title"] for one in made) == ["false", "true"]
