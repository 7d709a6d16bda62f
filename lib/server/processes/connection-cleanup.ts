/**
 * Connections that no process of a server will take. node:cluster passes a connection on to a worker and waits for a word
 * that it was accepted. If the worker is killed in between, no process would ever close it. If the worker takes no more,
 * because it stops, cluster keeps the connection for another one, also when all stop. In both cases its client would
 * wait. Node.js has no public way to know, so this follows cluster's own messages (lib/internal/cluster in Node.js 20 to
 * 24).
 */
import type { Worker } from "node:cluster";

interface Closable {
  close(): void;
}

const isClosable = (handle: unknown): handle is Closable =>
  typeof (handle as Partial<Closable> | undefined)?.close === "function";

interface Connections {
  watch(worker: Worker): void;
  /** When no worker takes a connection any more: closes what they have refused, and will refuse. */
  cutRefused(): void;
}

export function watchConnections(): Connections {
  const refused = new Set<Closable>();
  /** By the number of cluster's message. */
  const onTheWay = new Map<number, { handle: Closable; to: Worker }>();
  let isOver = false;

  const isSent = (handle: Closable) => [...onTheWay.values()].some((one) => one.handle === handle);

  function settle(seq: number, isAccepted: boolean): void {
    const handle = onTheWay.get(seq)?.handle;
    onTheWay.delete(seq);
    // Cluster has heard it before, and may have sent it to another worker.
    if (handle === undefined || isAccepted || isSent(handle)) return;
    if (isOver) handle.close();
    else refused.add(handle);
  }

  return {
    watch(worker) {
      const child = worker.process;
      const send = child.send.bind(child) as (...given: unknown[]) => boolean;
      child.send = ((message: { act?: string; seq?: number }, handle?: unknown, ...more: unknown[]) => {
        if (message.act === "newconn" && message.seq !== undefined && isClosable(handle)) {
          refused.delete(handle);
          onTheWay.set(message.seq, { handle, to: worker });
        }
        return send(message, handle, ...more);
      }) as typeof child.send;
      child.on("internalMessage", ({ ack, accepted }: { ack?: number; accepted?: boolean }) => {
        if (ack !== undefined) settle(ack, accepted === true);
      });
      worker.once("exit", () => {
        for (const [seq, { handle, to }] of onTheWay) {
          if (to !== worker) continue;
          onTheWay.delete(seq);
          handle.close();
        }
      });
    },
    cutRefused() {
      isOver = true;
      for (const handle of refused) handle.close();
      refused.clear();
    },
  };
}
