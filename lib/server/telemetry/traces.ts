/**
 * OpenTelemetry traces, sent over OTLP/HTTP. Loaded only if OTEL_EXPORTER_OTLP_ENDPOINT is set. A span has the step's name
 * and what the service itself noted: no header, query, body or address of a request. A caller's `traceparent` is ignored,
 * because a stranger would decide with it what is recorded.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TraceIdRatioBasedSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Env } from "#lib/env";
import { type Step, type StepKind, stepBegan, stepEnded } from "#lib/instrumentation";
import { findProxyAgent } from "#lib/platform/node-fetch";

const kinds: Partial<Record<StepKind, SpanKind>> = {
  request: SpanKind.SERVER,
  webhook: SpanKind.CLIENT,
  mail: SpanKind.CLIENT,
  world: SpanKind.CLIENT,
};

const attributeNames: Record<string, string> = {
  status: "http.response.status_code",
  method: "http.request.method",
  route: "http.route",
};

function describe({ attributes, outcome }: Step): Record<string, string | number> {
  const named = Object.entries(attributes).map(([name, value]) => [
    attributeNames[name] ?? `countersign.${name}`,
    value,
  ]);
  return { ...Object.fromEntries(named), ...(outcome !== "ok" && { "error.type": outcome }) };
}

/** A client's mistake is no error of the server. */
const isFailure = ({ attributes: { status }, outcome }: Step) =>
  status === undefined ? outcome !== "ok" : Number(status) >= 500;

/** A batch belongs to many requests, so it has no parent. */
const chooseParent = ({ kind }: Step, current: Context | undefined) =>
  kind === "batch" ? ROOT_CONTEXT : (current ?? ROOT_CONTEXT);

type Settings = Pick<Env, "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_SERVICE_NAME" | "OTEL_TRACES_SAMPLER_ARG">;

export function openTraces(env: Settings, processName: string): () => Promise<void> {
  const url = `${env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, "")}/v1/traces`;
  const agent = findProxyAgent(url);
  const exporter = new OTLPTraceExporter({ url, ...(agent && { httpAgentOptions: () => agent }) });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": env.OTEL_SERVICE_NAME,
      "service.instance.id": `${processName}-${process.pid}`,
    }),
    sampler: new TraceIdRatioBasedSampler(env.OTEL_TRACES_SAMPLER_ARG),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer("countersign");
  const contexts = new AsyncLocalStorage<Context>();
  const spans = new WeakMap<Step, Span>();
  const begin = (step: Step): Context => {
    const parent = chooseParent(step, contexts.getStore());
    const span = tracer.startSpan(step.name, { kind: kinds[step.kind] ?? SpanKind.INTERNAL }, parent);
    spans.set(step, span);
    return trace.setSpan(parent, span);
  };
  const end = (message: unknown) => {
    const step = message as Step;
    const span = spans.get(step);
    span?.setAttributes(describe(step));
    if (isFailure(step)) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
  };
  stepBegan.bindStore(contexts, (message) => begin(message as Step));
  stepEnded.subscribe(end);
  return async () => {
    stepBegan.unbindStore(contexts);
    stepEnded.unsubscribe(end);
    // A collector that is gone must not keep the process from ending.
    await provider.shutdown().catch(() => {});
  };
}
