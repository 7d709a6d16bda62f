/**
 * A process's one app: what it has, and where those find it who don't build it (./app.ts). It is on globalThis, because
 * the production server and Next's bundle are two copies of this code that must share one database, one sequencer and
 * one limiter.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import type { HttpDependencies } from "#lib/api/http/pipeline";
import type { LocalWorldId } from "#lib/emulators/world-id";
import type * as pictureWorker from "#lib/jobs/picture-worker";
import type { WorkerPool } from "#lib/jobs/zk-worker-pool";
import type { PreloadedData } from "#lib/server/next/page-cache";
import type { Context } from "#lib/services/approvals/context";

export interface PageAnswer {
  isNotFound: boolean;
}

export interface App extends HttpDependencies<Context> {
  /** The stand-in, if nothing is configured. Its bridge and wallet keep their state in this process's memory. */
  localWorldId: LocalWorldId | null;
  pictures: WorkerPool<typeof pictureWorker>;
  handedOver: Map<string, PreloadedData>;
  pageAnswers: AsyncLocalStorage<PageAnswer>;
  /** Called before it stops: it answers as before, asks clients to connect elsewhere, and lets none wait. */
  leave(): void;
  close(): Promise<void>;
}

const appSymbol = Symbol.for("countersign.app");

const slots = globalThis as { [appSymbol]?: Promise<App> };

export const hasApp = () => slots[appSymbol] !== undefined;

export function keepApp(app: Promise<App> | null): void {
  if (app === null) delete slots[appSymbol];
  else slots[appSymbol] = app;
}

/**
 * Returns the app, which is there before the first request: the production server opens it, or instrumentation.ts where Next is
 * the server.
 */
export async function getApp(): Promise<App> {
  const app = slots[appSymbol];
  if (app === undefined) throw new Error("this process has not opened its app");
  return app;
}
