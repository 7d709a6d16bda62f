/**
 * One prover for the tests of all workers. Each would start its own, again after every pause, and load two seconds' worth of
 * tables for a proof that takes half a second.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createProver, type LocalLevel, type Prover, testHumans } from "#lib/emulators/prover";

/** Environment variable with its address. A worker without it starts a prover of its own. */
export const proverAddress = "TEST_PROVER_URL";

interface Wanted {
  human: string;
  level: LocalLevel;
  externalNullifier: string;
  signalHash: string;
}

/** Shares it with workers that start from now on. Resolves to a function that stops it. */
export async function shareProver(): Promise<() => void> {
  const prove = createProver();
  // Queues work: the prover takes eight jobs at once, and the workers may send more.
  let last: Promise<unknown> = Promise.resolve();
  const proveNext = (wanted: Wanted) => {
    const human = testHumans.find(({ id }) => id === wanted.human);
    if (human === undefined) throw new RangeError(`no test human ${wanted.human}`);
    const [externalNullifier, signalHash] = [BigInt(wanted.externalNullifier), BigInt(wanted.signalHash)];
    const made = last.then(() => prove({ human, level: wanted.level, externalNullifier, signalHash }));
    last = made.catch(() => undefined);
    return made;
  };
  const server = createServer(async (incoming, outgoing) => {
    try {
      const text = Buffer.concat(await incoming.toArray()).toString();
      outgoing.end(JSON.stringify(await proveNext(JSON.parse(text) as Wanted)));
    } catch (error) {
      outgoing.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env[proverAddress] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return () => {
    server.closeAllConnections();
    server.close();
  };
}

/** A test may put something in the place of the global one. */
const { fetch } = globalThis;

export function openProver(): Prover {
  const address = process.env[proverAddress];
  if (address === undefined) return createProver();
  return async ({ human, level, externalNullifier, signalHash }) => {
    const wanted: Wanted = {
      human: human.id,
      level,
      externalNullifier: String(externalNullifier),
      signalHash: String(signalHash),
    };
    const answer = await fetch(address, { method: "POST", body: JSON.stringify(wanted) });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as Awaited<ReturnType<Prover>>;
  };
}
