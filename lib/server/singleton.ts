/**
 * Where a process keeps its one app (./app.ts), for all who use it and don't build it. It is on globalThis, because the
 * production server and Next's bundle are two copies of this code that must share one database, one sequencer and one
 * limiter.
 */
import type { App } from "./app";

const appSymbol = Symbol.for("countersign.app");

const slots = globalThis as { [appSymbol]?: Promise<App> };

export const hasApp = () => slots[appSymbol] !== undefined;

export function keepApp(app: Promise<App> | null): void {
  if (app === null) delete slots[appSymbol];
  else slots[appSymbol] = app;
}

/** It is there before the first request: the production server opens it, or instrumentation.ts where Next is the server. */
export async function getApp(): Promise<App> {
  const app = slots[appSymbol];
  if (app === undefined) throw new Error("this process has not opened its app");
  return app;
}
