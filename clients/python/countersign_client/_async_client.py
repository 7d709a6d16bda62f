"""``AsyncCountersign``: the client for programs that run on asyncio. Functions that it is given may be async."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

import httpx2

from . import _calls as calls
from ._count import Counter
from ._decorate import Describe, Name, Target, describe_call
from ._outcome import Outcome
from ._flow import Answer, Call, Effect, Flow, Send, Sleep, run_flow_async
from ._gate import Approval, Gated, GateMemory, ask, gate
from ._gate_options import GateOptions, Gating
from ._two_phase import Begun, begin, end
from ._session import (
    AttestOutcome,
    BodyReader,
    Connections,
    http_options,
    open_service,
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


class AsyncCountersign:
    """``Countersign`` for asyncio: the same methods, to be awaited.

    A cancelled task cancels the request that it waited for; what has run is attested first.
    """

    def __init__(self, base_url: str, api_key: str | None = None, *, http: httpx2.AsyncClient | None = None) -> None:
        self._service = open_service(base_url, api_key)
        options = http_options(self._service.base_url)
        self._http = Connections(http, lambda: httpx2.AsyncClient(**options))
        self._memory = GateMemory(self._service.random_uuid())

    async def aclose(self) -> None:
        await self._http.of(get_running_loop()).aclose()

    async def __aenter__(self) -> AsyncCountersign:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def attest(
        self, request: AttestRequest, *, agent_key: AgentKey | None = None, idempotency_key: str | None = None
    ) -> Attestation:
        """Records what an agent did. Returns the receipt."""
        return await self._run(calls.attest(self._service, request, agent_key, idempotency_key))

    async def attest_many(
        self, requests: Iterable[AttestRequest], *, agent_key: AgentKey | None = None, concurrency: int = 8
    ) -> list[AttestOutcome]:
        """Attests each by itself, so many at once, and answers in their order what became of each.

        Raises before the first is sent if one of them is no JSON or can't be signed.
        """
        signed = calls.sign_all(requests, agent_key)
        places = asyncio.Semaphore(concurrency)

        async def attest_one(request: AttestRequest) -> AttestOutcome:
            async with places:
                try:
                    return AttestOutcome(await self.attest(request), None)
                except CountersignError as error:
                    return AttestOutcome(None, error)

        return list(await asyncio.gather(*map(attest_one, signed)))

    def counting(self, instance: str | None = None) -> AsyncCountingAttester:
        """Numbers what it sends for each agent from 1, one after the other: what never arrives shows in the next.

        ``instance``: a new name each time that the program starts (default: a random one).
        """
        return AsyncCountingAttester(self, Counter(instance or self._service.random_uuid()))

    async def authorize(self, request: AuthorizeRequest, *, idempotency_key: str | None = None) -> AuthorizationRequest:
        """Asks for a human's approval. Show ``approval_url`` and ``confirmation_code`` to whoever should decide."""
        return await self._run(calls.authorize(self._service, request, idempotency_key))

    async def wait_for_decision(self, request_id: str, *, timeout: float | None = None) -> AuthorizationState:
        """Raises NotApprovedError if the request is denied, expires or is cancelled, and WaitTimeoutError."""
        return await self._run(calls.wait_for_decision(self._service, request_id, timeout))

    async def claim(self, request_id: str, run: str) -> AuthorizationState:
        """Claims an approval for one run of its action. Run the action only if this doesn't raise.

        ``run``: your name for this run, the same if you repeat the claim, and another in every other run and process.
        """
        return await self._run(calls.claim(self._service, request_id, run))

    async def cancel(self, request_id: str) -> AuthorizationState:
        """Takes a pending request back: nobody can approve it any more."""
        return await self._run(calls.cancel(self._service, request_id))

    async def answer(self, request_id: str, number: int, text: str) -> AuthorizationState:
        """Answers an approver's question, ``question`` of the request's state, by its number."""
        return await self._run(calls.answer(self._service, request_id, number, text))

    async def revoke(self, request_id: str, *, reason: str | None = None) -> AuthorizationState:
        """Takes an approval back that no attestation has used: nothing can claim or use it any more."""
        return await self._run(calls.revoke(self._service, request_id, reason))

    async def freeze(self, agent_slug: str, reason: str) -> Identity:
        """Stops an agent: no request of it is approved, and no approval of it is claimed or used. Any key may."""
        return await self._run(calls.freeze(self._service, agent_slug, reason))

    async def unfreeze(self, agent_slug: str, *, reason: str | None = None) -> Identity:
        """Lets it go on. Needs a key with the permission ``freeze``, which no agent should have."""
        return await self._run(calls.unfreeze(self._service, agent_slug, reason))

    async def call(self, method: str, path: str, body: object = None, *, idempotency_key: str | None = None) -> Any:
        """Any other operation of the API: the answer as JSON."""
        return (await self._run(send(self._service, Request(method, path, body, idempotency_key)))).json()

    async def verify(self, receipt: str | Mapping[str, Any], *, keys: TrustedKeys | None = None) -> Report:
        """Repeats the checks here, without believing the service.

        ``receipt``: the id of an attestation, or a receipt as text or object.
        """
        return await self._run(verify_flow(self._service, receipt, keys or TrustedKeys(), int(time.time())))

    async def ask(
        self,
        request: AuthorizeRequest,
        inputs: object,
        *,
        run_id: str,
        call_id: str,
        **options: Unpack[GateOptions],
    ) -> AuthorizationRequest:
        """Asks what ``gate`` will ask for the same call, without waiting. A human is asked once."""
        require_gateable(request)
        return await self._run(ask(self._service, request, Gating(run_id, call_id, options), inputs))

    @overload
    def gate(
        self,
        request: Describe,
        inputs: Inputs,
        run: Callable[[Inputs, Approval], Awaitable[Result]],
        *,
        run_id: Name,
        call_id: Name | None = None,
        **options: Unpack[GateOptions],
    ) -> Awaitable[Gated[Result]]: ...

    @overload
    def gate(
        self, request: Describe, *, run_id: Name, call_id: Name | None = None, **options: Unpack[GateOptions]
    ) -> Callable[[Callable[Given, Awaitable[Result]]], Callable[Given, Awaitable[Result]]]: ...

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
        refuse_generator(run)
        described, gating = describe_call(request, run_id, call_id, options, inputs, getattr(run, "__qualname__", ""))
        return self._gate(described, gating, inputs, run)

    def _decorate(
        self,
        request: Describe,
        run_id: Name,
        call_id: Name | None,
        options: GateOptions,
        function: Callable[..., Awaitable[Result]],
    ) -> Callable[..., Awaitable[Result]]:
        target = Target(function)
        refuse_generator(target.function)

        @functools.wraps(target.function)
        async def gated(*args: Any, **kwargs: Any) -> Result:
            call = target.bind(*args, **kwargs)
            described, gating = describe_call(
                request, run_id, call_id, call.checked(options), call.inputs, target.name
            )

            def run(copy: dict[str, Any], _approval: Approval) -> Awaitable[Result]:
                result: Awaitable[Result] = target.function(*call.before, **call.arguments(copy))
                return result

            return cast("Result", (await self._gate(described, gating, call.inputs, run)).result)

        return gated

    async def _gate(
        self, request: AuthorizeRequest, gating: Gating, inputs: Any, run: Callable[[Any, Approval], Any]
    ) -> Gated[Any]:
        key = self._memory.key_of(request, gating, inputs)
        future, is_first = self._memory.enter(key)
        if not is_first:
            return cast("Gated[Any]", await asyncio.shield(asyncio.wrap_future(future)))
        try:
            gated = await self._run(gate(self._service, self._memory, request, gating, inputs, run))
        except BaseException as error:
            self._memory.leave(key, error=error)
            raise
        self._memory.leave(key, gated)
        return gated

    async def begin(self, request: AuthorizeRequest, gating: Gating, inputs: object) -> Begun:
        """For the files for frameworks: see _two_phase.py."""
        require_gateable(request)
        return await self._run(begin(self._service, self._memory, request, gating, inputs))

    async def end(self, begun: Begun, inputs: object, outcome: Outcome) -> Attestation:
        return await self._run(end(self._service, self._memory, begun, inputs, outcome))

    async def _run(self, flow: Flow[T]) -> T:
        return await run_flow_async(flow, self._perform)

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Sleep):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Call):
            result = effect.function(*effect.arguments)
            return require_run(await result if inspect.isawaitable(result) else result)
        return await self._send(effect)

    async def _send(self, request: Send) -> Answer:
        try:
            # A redirect would carry the key, and turn a POST into a GET.
            async with self._http.of(get_running_loop()).stream(
                request.method,
                request.url,
                # Hides the key where errors are reported.
                headers=httpx2.Headers(request.headers),
                content=request.content,
                timeout=request.timeout,
                follow_redirects=False,
            ) as response:
                body = BodyReader(request.timeout)
                async for chunk in response.aiter_bytes():
                    if not body.take(chunk):
                        break
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, headers, body.whole())
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ServiceConnectionError(f"{request.asked}: no answer ({error})") from error


class AsyncCountingAttester:
    def __init__(self, client: AsyncCountersign, counter: Counter) -> None:
        self._client = client
        self._counter = counter
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()

    async def attest(
        self, request: AttestRequest, *, agent_key: AgentKey | None = None, idempotency_key: str | None = None
    ) -> Attestation:
        # A lock knows one event loop, and the one of an ended loop no other.
        if self._loop is None or self._loop.is_closed():
            self._loop, self._turn = get_running_loop(), asyncio.Lock()
        # The service compares numbers in the order in which it records them.
        async with self._turn:
            with self._counter.count(request, idempotency_key) as counted:
                return await self._client.attest(counted, agent_key=agent_key, idempotency_key=idempotency_key)
