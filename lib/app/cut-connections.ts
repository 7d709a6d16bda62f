/**
 * Connections on their way to a process that ends before it has taken them. node:cluster passes one on and waits for a
 * word that it was accepted; if the process is killed in between, nobody would ever close it and its client would wait.
 * Node.js has no public way to know, so this follows cluster's own messages (lib/internal/cluster in Node.js 20 to 24).
 */
import type { Worker } from "node:cluster";

interface Closable {
  close(): void;
}

const isClosable = (handle: unknown): handle is Closable =>
  typeof (handle as Partial<Closable> | undefined)?.close === "function";

/** Closes what the process had not accepted when it ended. */
export function cutUnaccepted(worker: Worker): void {
  const onTheWay = new Map<unknown, Closable>();
  const child = worker.process;
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  child.send = ((message: { act?: string; seq?: number }, handle?: unknown, ...more: unknown[]) => {
    if (message.act === "newconn" && isClosable(handle)) onTheWay.set(message.seq, handle);
    return send(message, handle, ...more);
  }) as typeof child.send;
  child.on("internalMessage", ({ ack }: { ack?: number }) => onTheWay.delete(ack));
  worker.once("exit", () => {
    for (const handle of onTheWay.values()) handle.close();
    onTheWay.clear();
  });
}
