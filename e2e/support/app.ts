/**
 * A whole app for tests, on a database of its own of either kind, called through the same `dispatch` that the
 * server uses.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { eq } from "drizzle-orm";
import { rememberPeer } from "#lib/api/http/rate-limit";
import { type Scope, scopeNames } from "#lib/api/schemas/key-choices";
import { apiKeys } from "#lib/db/schema";
import { parseEnv } from "#lib/env";
import { openThreads } from "#lib/jobs/zk-worker-pool";
import { sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { buildApp, zkWorkerFile } from "#lib/server/app";
import { dispatch } from "#lib/server/operations";
import { type App, keepApp } from "#lib/server/singleton";
import { findOrCreateOrganization } from "#lib/services/accounts/organizations";
import { createApiKey } from "#lib/services/keys/api-keys";
import { createRulesEngine } from "#lib/services/policies/engine";
import { anyKind, copyEmbeddedTemplate, createTestDatabase, type DatabaseKind } from "./databases";

export interface TestCall {
  key?: string;
  body?: unknown;
  /** Sent as it is instead of `body`. */
  rawBody?: string | Uint8Array;
  headers?: Record<string, string>;
  ip?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely
export type TestAnswer = { status: number; headers: Headers; body: any };

export interface TestApp {
  app: App;
  env: Record<string, string>;
  dataDir: string;
  /** Calls the operation as a client would; `body` of the answer is parsed if it is JSON. */
  call(method: string, path: string, options?: TestCall): Promise<TestAnswer>;
  /** A key of the person's organization, made without mail; with every scope if none are named. */
  createKey(
    email?: string,
    scopes?: readonly Scope[],
    text?: string,
  ): Promise<{ key: string; keyId: string; organizationId: string }>;
  query(text: string, values?: unknown[]): ReturnType<App["context"]["database"]["query"]>;
  /** Makes this app the process's one; needed only with more than one app in a test. */
  use(): void;
  close(): Promise<void>;
}

/** A thread that starts computes a second's worth of tables; the apps of many test files share those that are there. */
const proofThreads = openThreads({ workerFile: zkWorkerFile, idleSeconds: 600 });

/** `settings`: environment variables besides the database. */
export async function startTestApp(
  kind: DatabaseKind = anyKind,
  settings: Record<string, string> = {},
): Promise<TestApp> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "countersign-test-"));
  const database =
    kind === "postgres" && settings["DATABASE_URL"] === undefined ? await createTestDatabase() : null;
  // Disabled: its second signature, and the leaf that names its key, would come at any time.
  const env = {
    DATA_DIR: dataDir,
    POST_QUANTUM: "off",
    ...(database && { DATABASE_URL: database.url }),
    ...settings,
  };
  if (kind === "embedded") await copyEmbeddedTemplate(env.DATA_DIR);
  const app = await buildApp(parseEnv(env), { proofThreads });
  // A machine that does ten other things starts its process in half a minute.
  const patience = { taskMs: 120_000, startMs: 120_000 };
  Object.assign(app.context, { rules: createRulesEngine({ logger: app.context.logger, ...patience }) });
  const use = () => keepApp(Promise.resolve(app));
  use();
  return {
    app,
    env,
    dataDir,
    use,
    call: async (method, target, options = {}) => {
      use();
      const headers = new Headers(options.headers);
      if (options.key !== undefined) headers.set("authorization", `Bearer ${options.key}`);
      const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
      const request = new Request(`http://localhost${target}`, {
        method,
        headers,
        ...(body !== undefined && { body: body as BodyInit }),
      });
      rememberPeer(request, options.ip ?? "127.0.0.1");
      const response = await dispatch(request);
      const text = await response.text();
      const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
      return {
        status: response.status,
        headers: response.headers,
        body: isJson && text !== "" ? JSON.parse(text) : text,
      };
    },
    query: (text, values = []) => app.context.database.query(text, values),
    createKey: async (email = "dev@example.com", scopes = scopeNames, text = undefined) =>
      app.context.database.db.transaction(async (tx) => {
        const { organizationId } = await findOrCreateOrganization(app.context, tx, email);
        const key = await createApiKey(app.context, tx, {
          organizationId,
          name: "test",
          email,
          scopes,
          expiresAt: null,
          actor: { kind: "system", id: "test", ip: null },
        });
        if (text !== undefined)
          await tx
            .update(apiKeys)
            .set({ secret_hash: sha256(utf8Encode(text)) })
            .where(eq(apiKeys.id, key.id));
        return { key: text ?? key.text, keyId: key.id, organizationId };
      }),
    close: async () => {
      await app.close();
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
