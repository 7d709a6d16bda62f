"""``Countersign``: the client for programs that wait where they call."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

import httpx2

from . import _calls as calls
from ._count import Counter
from ._decorate import Describe, Name, Target, describe_call
from ._flow import Answer, Call, Effect, Flow, Send, Sleep, run_flow
from ._gate import Approval, Gated, GateMemory, ask, gate
from ._gate_options import GateOptions, Gating
from ._session import (
    AttestOutcome,
    BodyReader,
    Connections,
    http_options,
    open_service,
    refuse_async,
    refuse_generator,
    require_gateable,
    require_run,
)
from ._sign import AgentKey
from ._transport import Request, send
from ._verify_here import verify_flow
from ._wire import Attestation, AttestRequest, AuthorizationRequest, AuthorizationState, AuthorizeRequest, Identity
from .errors import CountersignError, ServiceConnectionError
from .verify import Report, TrustedKeys

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Inputs = TypeVar("Inputs")
Result = TypeVar("Result")
Given = ParamSpec("Given")


class Countersign:
    """``base_url``: the service's address, https, or http on this machine. To verify, no ``api_key`` is needed."""

    def __init__(self, base_url: str, api_key: str | None = None, *, http: httpx2.Client | None = None) -> None:
        self._service = open_service(base_url, api_key)
        options = http_options(self._service.base_url)
        self._http = Connections(http, lambda: httpx2.Client(**options))
        self._memory = GateMemory(self._service.random_uuid())

    def close(self) -> None:
        self._http.of().close()

    def __enter__(self) -> Countersign:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def attest(
        self, request: AttestRequest, *, agent_key: AgentKey | None = None, idempotency_key: str | None = None
    ) -> Attestation:
        """Records what an agent did. Returns the receipt."""
        return self._run(calls.attest(self._service, request, agent_key, idempotency_key))

    def attest_many(
        self, requests: Iterable[AttestRequest], *, agent_key: AgentKey | None = None, concurrency: int = 8
    ) -> list[AttestOutcome]:
        """Attests each by itself, so many at once, and answers in their order what became of each.

        Raises before the first is sent if one of them is no JSON or can't be signed.
        """
        signed = calls.sign_all(requests, agent_key)

        def attest_one(request: AttestRequest) -> AttestOutcome:
            try:
                return AttestOutcome(self.attest(request), None)
            except CountersignError as error:
                return AttestOutcome(None, error)

        with ThreadPoolExecutor(concurrency) as threads:
            return list(threads.map(attest_one, signed))

    def counting(self, instance: str | None = None) -> CountingAttester:
        """Numbers what it sends for each agent from 1, one after the other: what never arrives shows in the next.

        ``instance``: a new name each time that the program starts (default: a random one).
        """
        return CountingAttester(self, Counter(instance or self._service.random_uuid()))

    def authorize(self, request: AuthorizeRequest, *, idempotency_key: str | None = None) -> AuthorizationRequest:
        """Asks for a human's approval. Show ``approval_url`` and ``confirmation_code`` to whoever should decide."""
        return self._run(calls.authorize(self._service, request, idempotency_key))

    def wait_for_decision(self, request_id: str, *, timeout: float | None = None) -> AuthorizationState:
        """Raises NotApprovedError if the request is denied, expires or is cancelled, and WaitTimeoutError."""
        return self._run(calls.wait_for_decision(self._service, request_id, timeout))

    def claim(self, request_id: str, run: str) -> AuthorizationState:
        """Claims an approval for one run of its action. Run the action only if this doesn't raise.

        ``run``: your name for this run, the same if you repeat the claim, and another in every other run and process.
        """
        return self._run(calls.claim(self._service, request_id, run))

    def cancel(self, request_id: str) -> AuthorizationState:
        """Takes a pending request back: nobody can approve it any more."""
        return self._run(calls.cancel(self._service, request_id))

    def answer(self, request_id: str, number: int, text: str) -> AuthorizationState:
        """Answers an approver's question, ``question`` of the request's state, by its number."""
        return self._run(calls.answer(self._service, request_id, number, text))

    def revoke(self, request_id: str, *, reason: str | None = None) -> AuthorizationState:
        """Takes an approval back that no attestation has used: nothing can claim or use it any more."""
        return self._run(calls.revoke(self._service, request_id, reason))

    def freeze(self, agent_slug: str, reason: str) -> Identity:
        """Stops an agent: no request of it is approved, and no approval of it is claimed or used. Any key may."""
        return self._run(calls.freeze(self._service, agent_slug, reason))

    def unfreeze(self, agent_slug: str, *, reason: str | None = None) -> Identity:
        """Lets it go on. Needs a key with the permission ``freeze``, which no agent should have."""
        return self._run(calls.unfreeze(self._service, agent_slug, reason))

    def call(self, method: str, path: str, body: object = None, *, idempotency_key: str | None = None) -> Any:
        """Any other operation of the API: the answer as JSON."""
        return self._run(send(self._service, Request(method, path, body, idempotency_key))).json()

    def verify(self, receipt: str | Mapping[str, Any], *, keys: TrustedKeys | None = None) -> Report:
        """Repeats the checks here, without believing the service.

        ``receipt``: the id of an attestation, or a receipt as text or object.
        """
        return self._run(verify_flow(self._service, receipt, keys or TrustedKeys(), int(time.time())))

    def ask(
        self, request: AuthorizeRequest, inputs: object, *, run_id: str, call_id: str, **options: Unpack[GateOptions]
    ) -> AuthorizationRequest:
        """Asks what ``gate`` will ask for the same call, without waiting. A human is asked once."""
        require_gateable(request)
        return self._run(ask(self._service, request, Gating(run_id, call_id, options), inputs))

    @overload
    def gate(
        self,
        request: Describe,
        inputs: Inputs,
        run: Callable[[Inputs, Approval], Result],
        *,
        run_id: Name,
        call_id: Name | None = None,
        **options: Unpack[GateOptions],
    ) -> Gated[Result]: ...

    @overload
    def gate(
        self, request: Describe, *, run_id: Name, call_id: Name | None = None, **options: Unpack[GateOptions]
    ) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]: ...

    def gate(
        self,
        request: Describe,
        inputs: Any = None,
        run: Callable[..., Any] | None = None,
        *,
        run_id: Name,
        call_id: Name | None = None,
        **options: Unpack[GateOptions],
    ) -> Any:
        """Runs an action only if a human has approved exactly these inputs, and attests it.

        With ``inputs`` and ``run``: calls ``run(inputs, approval)`` with a copy of exactly what was approved. Without:
        a decorator, whose function then runs only so. 
        """
        if run is None:
            return functools.partial(self._decorate, request, run_id, call_id, options)
        refuse_async(run)
        refuse_generator(run)
        described, gating = describe_call(request, run_id, call_id, options, inputs, getattr(run, "__qualname__", ""))
        return self._gate(described, gating, inputs, run)

    def _decorate(
        self,
        request: Describe,
        run_id: Name,
        call_id: Name | None,
        options: GateOptions,
        function: Callable[..., Result],
    ) -> Callable[..., Result]:
        target = Target(function)
        refuse_async(target.function)
        refuse_generator(target.function)

        @functools.wraps(target.function)
        def gated(*args: Any, **kwargs: Any) -> Result:
            call = target.bind(*args, **kwargs)
            described, gating = describe_call(
                request, run_id, call_id, call.checked(options), call.inputs, target.name
            )

            def run(copy: dict[str, Any], _approval: Approval) -> Result:
                return cast("Result", target.function(*call.before, **call.arguments(copy)))

            return cast("Result", self._gate(described, gating, call.inputs, run).result)

        return gated

    def _gate(
        self, request: AuthorizeRequest, gating: Gating, inputs: Any, run: Callable[[Any, Approval], Any]
    ) -> Gated[Any]:
        key = self._memory.key_of(request, gating, inputs)
        future, is_first = self._memory.enter(key)
        if not is_first:
            return cast("Gated[Any]", future.result())
        try:
            gated = self._run(gate(self._service, self._memory, request, gating, inputs, run))
        except BaseException as error:
            self._memory.leave(key, error=error)
            raise
        self._memory.leave(key, gated)
        return gated

    def _run(self, flow: Flow[T]) -> T:
        return run_flow(flow, self._perform)

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Sleep):
            return time.sleep(effect.seconds)
        if isinstance(effect, Call):
            return require_run(effect.function(*effect.arguments))
        return self._send(effect)

    def _send(self, request: Send) -> Answer:
        try:
            # A redirect would carry the key, and turn a POST into a GET.
            with self._http.of().stream(
                request.method,
                request.url,
                # Hides the key where errors are reported.
                headers=httpx2.Headers(request.headers),
                content=request.content,
                timeout=request.timeout,
                follow_redirects=False,
            ) as response:
                body = BodyReader(request.timeout)
                for chunk in response.iter_bytes():
                    if not body.take(chunk):
                        break
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, headers, body.whole())
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ServiceConnectionError(f"{request.asked}: no answer ({error})") from error


class CountingAttester:
    def __init__(self, client: Countersign, counter: Counter) -> None:
        self._client = client
        self._counter = counter
        self._turn = threading.Lock()

    def attest(
        self, request: AttestRequest, *, agent_key: AgentKey | None = None, idempotency_key: str | None = None
    ) -> Attestation:
        # The service compares numbers in the order in which it records them.
        with self._turn:
            with self._counter.count(request, idempotency_key) as counted:
                return self._client.attest(counted, agent_key=agent_key, idempotency_key=idempotency_key)
