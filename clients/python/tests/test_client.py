"""The calls of the client, against the service."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import pickle
import re
import ssl
import subprocess
import threading
import traceback
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from conftest import API_KEY, BASE_URL, Human

import countersign_client
from countersign_client import (
    ApiError,
    ApprovalClaimedError,
    AsyncCountersign,
    Countersign,
    CountersignError,
    NotApprovedError,
    NotAttestedError,
    ServiceConnectionError,
    UnreadableError,
    WaitTimeoutError,
    sign_agent_request,
)
from countersign_client import _wire
from countersign_client._calls import wait_for_decision
from countersign_client._count import Counter
from countersign_client._flow import Effect, Send, Sleep, run_flow
from countersign_client._session import Connections
from countersign_client._transport import Service


def action(agent: str, **more: Any) -> Any:
    return {"agent_slug": agent, "action": "Sent invoice 1042", "inputs_hash": "sha256:abc", **more}


def test_attests_and_verifies_by_id_by_object_and_by_text(client: Countersign, new_agent: Any) -> None:
    receipt = client.attest(action(new_agent(), metadata={"n": 1.5, "€": "ü"}))
    report = client.verify(receipt["attestation_id"])
    assert (report.verdict, report.pinned) == ("valid", False)
    assert [check.name for check in report.checks if check.status == "fail"] == []
    assert report.statement is not None
    assert report.statement["predicate"]["request"]["metadata"] == {"n": 1.5, "€": "ü"}
    assert client.verify(receipt).verdict == "valid"
    assert client.verify({**receipt, "action": "Sent nothing"}).verdict == "invalid"
    for nothing in (5, None, json.dumps(receipt).encode()):
        with pytest.raises(UnreadableError, match="expected text or a JSON object, not"):
            client.verify(nothing)  # type: ignore[arg-type]


def test_verifies_with_async_too(new_agent: Any) -> None:
    async def go() -> str:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            receipt = await own.attest(action(new_agent()))
            return (await own.verify(receipt["attestation_id"])).verdict

    assert asyncio.run(go()) == "valid"


def test_attests_many_each_with_its_own_end(client: Countersign, new_agent: Any) -> None:
    agent = new_agent()
    good = [action(agent, metadata={"n": n}) for n in range(20)]
    outcomes = client.attest_many([*good, action(agent, code_hash="")])
    assert [one.attestation["metadata"] for one in outcomes[:-1] if one.attestation] == [{"n": n} for n in range(20)]
    error = outcomes[-1].error
    assert isinstance(error, ApiError)
    assert (error.status, error.code, error.errors[0].pointer) == (422, "validation_error", "/code_hash")

    async def go() -> Any:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            return await own.attest_many([*good, action(agent, code_hash="")])

    assert [one.error is None for one in asyncio.run(go())] == [True] * 20 + [False]


@pytest.mark.parametrize("agent_key", [None, b"k" * 32])
def test_attests_each_of_many_as_it_was_given(agent_key: Any, client: Countersign, new_agent: Any) -> None:
    agent, seen = new_agent(), {"n": 0}

    def count() -> Any:
        for seen["n"] in range(3):
            yield action(agent, metadata=seen)

    outcomes = client.attest_many(count(), agent_key=agent_key)
    assert [one.attestation and one.attestation["metadata"] for one in outcomes] == [{"n": n} for n in range(3)]


def test_repeats_what_it_sent_and_not_what_became_of_it(new_agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    request, inner = action(new_agent(), metadata={"n": 1}), httpx2.HTTPTransport()

    class LosingOnce(httpx2.BaseTransport):
        def handle_request(self, request_: httpx2.Request) -> httpx2.Response:
            if request["metadata"]["n"] == 2:
                return inner.handle_request(request_)
            request["metadata"]["n"] = 2
            raise httpx2.ReadError("lost", request=request_)

    with Countersign(BASE_URL, API_KEY, http=httpx2.Client(transport=LosingOnce())) as own:
        assert own.attest(request)["metadata"] == {"n": 1}


def test_attests_none_of_many_if_one_is_no_json(client: Countersign, new_agent: Any) -> None:
    agent = new_agent()
    many = [action(agent, metadata={"rate": rate}) for rate in (1.5, float("nan"), 2.5)]

    async def go() -> None:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            await own.attest_many(many)

    for attest_all in (lambda: client.attest_many(many), lambda: asyncio.run(go())):
        with pytest.raises(ValueError, match="not JSON compliant"):
            attest_all()
        with pytest.raises(ApiError, match="not_found"):
            client.call("GET", f"/v1/agent/{agent}")


def test_counts_per_agent_and_shows_what_never_arrived(client: Countersign, new_agent: Any) -> None:
    agent, counting = new_agent(), client.counting("worker-1")
    assert [counting.attest(action(agent))["client_gap"] for _ in range(3)] == [False] * 3
    with pytest.raises(ApiError):
        counting.attest(action(agent, code_hash=""))
    later = counting.attest(action(agent.upper()))
    assert (later["client"], later["client_gap"]) == ({"instance": "worker-1", "sequence": 5}, True)

    async def go() -> Any:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            counting = own.counting()
            return await asyncio.gather(*(counting.attest(action(agent)) for _ in range(5)))

    made = asyncio.run(go())
    assert [(one["client"]["sequence"], one["client_gap"]) for one in made] == [(n, False) for n in range(1, 6)]


@pytest.mark.parametrize("is_answer_lost", [False, True])
def test_keeps_the_number_of_a_call_that_is_repeated_under_its_key(
    is_answer_lost: bool, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    agent, inner, lost = new_agent(), httpx2.HTTPTransport(), [True]

    class LosingOnce(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            response = inner.handle_request(request) if is_answer_lost or not lost else None
            if lost or response is None:
                raise httpx2.ReadError("lost", request=request)
            return response

    with Countersign(BASE_URL, API_KEY, http=httpx2.Client(transport=LosingOnce())) as own:
        counting = own.counting("worker-2")
        with pytest.raises(ServiceConnectionError):
            counting.attest(action(agent), idempotency_key=agent)
        lost.clear()
        made = [counting.attest(action(agent), idempotency_key=key) for key in (agent, f"{agent}-2")]
    assert [(one["client"]["sequence"], one["client_gap"]) for one in made] == [(1, False), (2, False)]


def test_authorizes_waits_claims_once_and_cancels(client: Countersign, human: Human, new_agent: Any) -> None:
    made = client.authorize({"agent_slug": new_agent(), "action": "Pay", "context": {"to": "Example Ltd"}})
    with pytest.raises(WaitTimeoutError):
        client.wait_for_decision(made["request_id"], timeout=1.2)
    human(made)
    assert client.wait_for_decision(made["request_id"])["status"] == "approved"
    assert client.claim(made["request_id"], "run-1").get("run") == "run-1"
    assert client.claim(made["request_id"], "run-1").get("run") == "run-1"
    with pytest.raises(Exception, match="another run has claimed"):
        client.claim(made["request_id"], "run-2")
    other = client.authorize({"agent_slug": made["agent_slug"], "action": "Pay more"})
    assert client.cancel(other["request_id"])["status"] == "cancelled"
    with pytest.raises(NotApprovedError) as caught:
        client.wait_for_decision(other["request_id"])
    assert caught.value.status == "cancelled"


@pytest.mark.parametrize(("lasts", "tries"), [(0.0, 3), (60.0, 1)])
def test_waits_for_a_service_that_is_away_no_longer_than_it_was_told(lasts: float, tries: int) -> None:
    now, asked = [100.0], list[Send]()

    def perform(effect: Effect) -> None:
        if isinstance(effect, Sleep):
            now[0] += effect.seconds
            return
        assert isinstance(effect, Send)
        asked.append(effect)
        now[0] += min(lasts, effect.timeout)
        raise ServiceConnectionError("away")

    service = Service(BASE_URL, API_KEY, random=lambda: 1.0, monotonic=lambda: now[0])
    with pytest.raises(WaitTimeoutError) as caught:
        run_flow(wait_for_decision(service, "areq_1", 1.5), perform)
    assert isinstance(caught.value.__cause__, ServiceConnectionError)
    assert len(asked) == tries
    assert now[0] == (101.5 if lasts == 0 else 116)


def test_does_a_write_once_under_one_key(client: Countersign, new_agent: Any) -> None:
    request = action(new_agent())
    first = client.attest(request, idempotency_key="py-key-1")
    assert client.attest(request, idempotency_key="py-key-1")["attestation_id"] == first["attestation_id"]


def test_signs_what_the_service_verifies(new_agent: Any) -> None:
    request = action("x", metadata={"a": None, "b": [1, 2.5]}, model_id=None)
    by_seed = sign_agent_request(request, bytes(32))
    assert by_seed.get("agent_signature") == sign_agent_request(request, "A" * 43 + "=").get("agent_signature")
    as_sent = action("x", metadata={"b": (1, 2.5), "c": {1: ()}})
    as_read = action("x", metadata={"b": [1, 2.5], "c": {"1": []}})
    assert sign_agent_request(as_sent, bytes(32))["agent_signature"] == sign_agent_request(as_read, bytes(32))["agent_signature"]
    with pytest.raises(TypeError) as caught:
        sign_agent_request(request, "secret-text")
    assert "secret-text" not in str(caught.value)


def seen_by_reporters(error: BaseException | None) -> str:
    """Collects the variables of every frame, as error reporters store them."""
    if error is None:
        return ""
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)]
    return repr(frames[1:]) + seen_by_reporters(error.__cause__ or error.__context__)


def test_shows_its_key_to_nobody() -> None:
    with Countersign(BASE_URL, API_KEY) as own:
        assert API_KEY not in repr(vars(own))

    async def go() -> None:
        await AsyncCountersign("http://127.0.0.1:1", "cs_live_x").call("POST", "/v1/attest?run=its-run")

    for fail in (lambda: Countersign("http://127.0.0.1:1", "cs_live_x").call("POST", "/v1/attest?run=its-run"), lambda: asyncio.run(go())):
        with pytest.raises(ServiceConnectionError) as caught:
            fail()
        seen = seen_by_reporters(caught.value)
        assert "/v1/attest" in seen
        assert str(caught.value) == f"POST http://127.0.0.1:1/v1/attest: no answer ({caught.value.__cause__})"
        assert re.search(r"refused|attempts failed", str(caught.value))
        assert "cs_live_x" not in seen


class SaysPort(BaseHTTPRequestHandler):
    """Answers with the caller's port: the same as long as one connection is used."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = str(self.client_address[1]).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_reads_no_answer_of_its_parent_or_siblings_in_a_forked_process() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SaysPort) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Countersign(f"http://127.0.0.1:{server.server_port}", "key") as own:
            port = own.call("GET", "/")
            assert own.call("GET", "/") == port
            reading, writing = os.pipe()
            if os.fork() == 0:
                try:
                    os.write(writing, str(own.call("GET", "/")).encode())
                finally:
                    os._exit(0)
            os.close(writing)
            with os.fdopen(reading) as pipe:
                assert int(pipe.read()) != port
            os.wait()
        server.shutdown()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_counts_under_a_name_of_its_own_in_a_forked_process() -> None:
    counter = Counter("worker")

    def number() -> Any:
        with counter.count(action("x"), None) as counted:
            return counted.get("client")

    assert number() == {"instance": "worker", "sequence": 1}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps([number(), number()]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert json.load(pipe) == [{"instance": f"worker-{child}", "sequence": n} for n in (1, 2)]
    os.wait()
    assert number() == {"instance": "worker", "sequence": 2}


def test_keeps_its_connections_while_event_loops_take_turns() -> None:
    connections, loops = Connections(None, object), [asyncio.new_event_loop() for _ in range(3)]
    first, second = connections.of(loops[0]), connections.of(loops[1])
    assert (connections.of(loops[0]), connections.of(loops[1])) == (first, second)
    loops[0].close()
    assert connections.of(loops[2]) not in (first, second)
    assert connections.of(loops[0]) is not first, "of a loop that has ended nothing is kept"
    for one in loops:
        one.close()


def test_goes_on_in_another_event_loop(new_agent: Any) -> None:
    own, agent = AsyncCountersign(BASE_URL, API_KEY), new_agent()

    async def attest(n: int) -> Any:
        return (await own.attest(action(agent, metadata={"n": n})))["metadata"]

    assert [asyncio.run(attest(n)) for n in range(3)] == [{"n": n} for n in range(3)]
    counting = own.counting()

    async def count() -> Any:
        return [one["client"]["sequence"] for one in await asyncio.gather(*(counting.attest(action(agent)) for _ in range(3)))]

    assert [asyncio.run(count()) for _ in range(2)] == [[1, 2, 3], [4, 5, 6]]
    asyncio.run(own.aclose())


@pytest.mark.parametrize("key", ["", " \n", "cs_live_a\nb", f"“{API_KEY}”"])
def test_sends_nothing_under_what_is_no_key(key: str) -> None:
    with pytest.raises(ValueError, match="^api_key: expected printable ASCII$"):
        Countersign(BASE_URL, key)
    with Countersign(BASE_URL, f"{API_KEY}\n") as own, pytest.raises(ValueError, match="^idempotency_key"):
        assert own.call("GET", "/v1/keys/info")["name"]
        own.attest(action("x"), idempotency_key=f"a{key}\n\nb")


def test_says_which_key_is_wrong() -> None:
    with Countersign(BASE_URL, "cs_live_wrong") as own, pytest.raises(ApiError) as caught:
        own.attest(action("x"))
    assert (caught.value.status, caught.value.code, caught.value.retryable) == (401, "invalid_api_key", False)
    assert caught.value.request_id is not None


@pytest.mark.parametrize(
    "error",
    [
        ApiError(422, {"code": "validation_error", "errors": [{"pointer": "/action", "message": "is missing"}]}, 3),
        ApprovalClaimedError(),
        NotApprovedError("denied", {"guidance": "Stop."}),
        NotAttestedError("areq_1", "paid", ValueError("no")),
    ],
)
def test_passes_an_error_on_to_another_process(error: CountersignError) -> None:
    read = pickle.loads(pickle.dumps(error))
    assert (type(read), str(read)) == (type(error), str(error))
    assert vars(read).keys() == vars(error).keys()
    assert all(str(vars(read)[name]) == str(value) for name, value in vars(error).items())


def test_has_names_for_the_types_of_its_calls() -> None:
    calls = [call for name, call in vars(Countersign).items() if inspect.isfunction(call) and not name.startswith("_")]
    said = {word for call in calls for word in re.findall(r"\w+", str(call.__annotations__))}
    types = {name for name, value in vars(_wire).items() if typing.is_typeddict(value)}
    assert "AttestRequest" in said & types
    assert said & types <= set(countersign_client.__all__)


def test_names_no_user_in_its_address_and_takes_one_from_a_file(new_agent: Any) -> None:
    with pytest.raises(ValueError, match="^base_url: must name no user$"):
        Countersign("https://user:password@example.com", "key")
    with Countersign(f" {BASE_URL}/\n", API_KEY) as own:
        assert own.call("GET", "/v1/keys/info")["name"]


@pytest.mark.parametrize("address", ["http://example.com", "ftp://localhost", "example.com", "", "http://localhost.evil.example"])
def test_sends_no_key_in_the_clear(address: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        Countersign(address, "key")


def test_sends_no_key_in_the_clear_to_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["authorization"])
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    async def no_sleep(_: float) -> None: ...

    async def go() -> None:
        await AsyncCountersign("http://localhost:1", "key").call("GET", "/v1/keys/info")

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.server_port}")
        monkeypatch.setattr("time.sleep", lambda _: None)
        monkeypatch.setattr("countersign_client._async_client.asyncio.sleep", no_sleep)
        for ask in (lambda: Countersign("http://localhost:1", "key").call("GET", "/v1/keys/info"), lambda: asyncio.run(go())):
            with pytest.raises(CountersignError):
                ask()
        proxy.shutdown()
    assert seen == []


def make_server(folder: Path) -> ssl.SSLContext:
    """Makes the certificate of a host that a private authority vouches for."""
    extensions = folder / "names"
    extensions.write_text("subjectAltName=DNS:service.example")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for arguments in (
        ["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Private CA"],
        ["req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server"],
        ["x509", "-req", "-in", "server.csr", "-out", "server.pem", "-CA", "ca.pem", "-CAkey", "ca.key",
         "-CAcreateserial", "-extfile", "names", "-days", "2"],
    ):  # fmt: skip
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return context


def test_honours_the_environments_proxy_and_authorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, asked = make_server(tmp_path), []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            with contextlib.suppress(OSError), context.wrap_socket(self.connection, server_side=True) as tunnel:
                tunnel.recv(65_536)
                tunnel.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{"ok":true}')

        def log_message(self, *_: object) -> None:
            pass

    async def go() -> Any:
        async with AsyncCountersign("https://service.example", "key") as own:
            return await own.call("GET", "/v1/keys/info")

    def read(base: str = "https://service.example") -> Any:
        with Countersign(base, "key") as own:
            return own.call("GET", "/v1/keys/info")

    monkeypatch.setattr("time.sleep", lambda _: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.server_port}")
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "ca.pem"))
        assert read() == asyncio.run(go()) == {"ok": True}
        assert asked == ["service.example:443"] * 2
        with pytest.raises(ServiceConnectionError):
            read("https://localhost:1")
        monkeypatch.setenv("NO_PROXY", "service.example")
        with pytest.raises(ServiceConnectionError):
            read()
        assert len(asked) == 2
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "missing.pem"))
        with pytest.raises(ServiceConnectionError):
            read()
        assert len(asked) > 2
        proxy.shutdown()


def test_does_not_follow_a_redirect_with_the_key() -> None:
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(307, headers={"location": "https://evil.example/"})

    http = httpx2.Client(transport=httpx2.MockTransport(answer), follow_redirects=True)
    with Countersign(BASE_URL, API_KEY, http=http) as own, pytest.raises(ApiError):
        own.call("GET", "/v1/keys/info")
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("status", "headers", "tries"),
    [(503, {}, 5), (429, {"retry-after": "1"}, 5), (429, {"retry-after": "3600"}, 1), (404, {}, 1)],
)
def test_repeats_what_is_safe_to_repeat(
    status: int, headers: dict[str, str], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(status, headers=headers, json={})

    with Countersign(BASE_URL, API_KEY, http=httpx2.Client(transport=httpx2.MockTransport(answer))) as own:
        with pytest.raises(ApiError):
            own.attest(action("x"))
        assert len(seen) == tries
        assert len({request.headers["idempotency-key"] for request in seen}) == 1
        assert len(pauses) == tries - 1
        assert all(pause >= 1 for pause in pauses) or "retry-after" not in headers
        seen.clear()
        with pytest.raises(ApiError):
            own.call("POST", "/v1/keys/request", {"email": "a@b.c"})
        assert len(seen) == 1


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"x" * (16 * 1024 * 1024 + 1)])
def test_takes_no_answer_but_json_of_a_sane_size(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=body)))
    with Countersign(BASE_URL, API_KEY, http=http) as own, pytest.raises(ServiceConnectionError):
        own.call("GET", "/v1/keys/info")
