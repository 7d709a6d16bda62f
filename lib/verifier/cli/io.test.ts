/** The verifier reads from servers that it does not trust to end their answers. */
import { describe, expect, it } from "vitest";
import { WorldChainError } from "#lib/protocol/world-id/world-chain-calls";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { type CommandIo, callNode, DeadlineError, fetchBytes, UnreachableError, withDeadline } from "./io";

/** Answers without end, in chunks of a megabyte; `read` is how many were asked for. */
function serveEndlessly(status: number) {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  const served = { read: 0, isCancelled: false };
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => {
        served.read += 1;
        if (served.read > 100) controller.error(new Error("read without a bound"));
        else controller.enqueue(chunk);
      },
      cancel: () => {
        served.isCancelled = true;
      },
    });
  const io = { fetch: async () => new Response(body(), { status }) } as unknown as CommandIo;
  return { io, served };
}

describe("a run's deadline", () => {
  const begin = (fetch: CommandIo["fetch"]) => {
    const clock = { nowSeconds: 1_000 };
    const io = withDeadline({ fetch, nowSeconds: () => clock.nowSeconds } as CommandIo, 60);
    return { clock, read: () => fetchBytes(io, "https://log.example/checkpoint") };
  };

  it("ends it, however quickly each answer comes", async () => {
    const { clock, read } = begin(async () => new Response("{}"));
    await read();
    clock.nowSeconds = 1_059;
    await read();
    clock.nowSeconds = 1_060;
    await expect(read()).rejects.toThrow(DeadlineError);
  });

  it("ends it while an answer is waited for", async () => {
    const { clock, read } = begin(
      (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => {
            clock.nowSeconds = 1_060;
            reject(new Error("cut"));
          });
        }),
    );
    clock.nowSeconds = 1_059;
    await expect(read()).rejects.toThrow(DeadlineError);
  });

  it("ends it while the end of an answer is waited for", async () => {
    const { clock, read } = begin(async () => {
      clock.nowSeconds = 1_060;
      return new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) }));
    });
    await expect(read()).rejects.toThrow(DeadlineError);
  });

  it("is waited for no longer than it lasts, if the service asks for patience", async () => {
    const { clock, read } = begin(async () => {
      clock.nowSeconds = Math.max(1_059, clock.nowSeconds + 1);
      return new Response("", { status: 503, headers: { "retry-after": "60" } });
    });
    const begun = performance.now();
    await expect(read()).rejects.toThrow(DeadlineError);
    expect(performance.now() - begun).toBeLessThan(30_000);
  });
});

it.each([
  ["connect ECONNREFUSED 127.0.0.1:1", new Error("connect ECONNREFUSED 127.0.0.1:1")],
  // A host of several addresses.
  ["ECONNREFUSED", Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })],
])("a service that can't be reached is named with why: %s", async (why, cause) => {
  const io = {
    fetch: () => Promise.reject(new TypeError("fetch failed", { cause })),
  } as unknown as CommandIo;
  const said = `https://log.example/checkpoint: could not be fetched (fetch failed: ${why})`;
  await expect(fetchBytes(io, "https://log.example/checkpoint")).rejects.toThrow(new UnreachableError(said));
});

describe("an answer without end", () => {
  it("of the service is refused at 64 MiB", async () => {
    const { io, served } = serveEndlessly(200);
    const reading = fetchBytes(io, "https://log.example/checkpoint");
    await expect(reading).rejects.toThrow(
      new UnreadableError("https://log.example/checkpoint: the answer has more than 67108864 bytes"),
    );
    expect(served).toMatchObject({ isCancelled: true });
  });

  it("that explains an error is left out", async () => {
    const { io, served } = serveEndlessly(500);
    const reading = fetchBytes(io, "https://log.example/checkpoint");
    await expect(reading).rejects.toThrow(new UnreadableError("https://log.example/checkpoint: HTTP 500"));
    expect(served.isCancelled).toBe(true);
    expect(served.read).toBeLessThan(4);
  });

  it("of a node is no answer", async () => {
    const { io, served } = serveEndlessly(200);
    await expect(callNode(io, "https://node.example")("eth_chainId", [])).rejects.toBeInstanceOf(
      WorldChainError,
    );
    expect(served.isCancelled).toBe(true);
    expect(served.read).toBeLessThan(5);
  });
});
