/** App of a test file or `describe`, started before its tests and closed after them. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { scopeNames } from "#lib/api/schemas/key-choices";
import { createApiKeyText } from "#lib/services/keys/api-keys";
import { startTestApp, type TestApp } from "./app";
import { anyKind, type DatabaseKind } from "./databases";

/** `key` is one organization's and `stranger` another's; each is made if it is taken out of the answer. */
export function setupTestApp(kind: DatabaseKind = anyKind, settings: Record<string, string> = {}) {
  let started: TestApp | undefined;
  const keys = new Map<string, string>();
  const makeKey = (email: string): string => {
    const text = createApiKeyText("test", (length) => new Uint8Array(randomBytes(length)));
    keys.set(email, text);
    return text;
  };
  beforeAll(async () => {
    started = await startTestApp(kind, settings);
    for (const [email, text] of keys) await started.createKey(email, scopeNames, text);
  });
  afterAll(() => started?.close());
  return {
    test: new Proxy({} as TestApp, { get: (_, name) => Reflect.get(started ?? {}, name) }),
    get key() {
      return makeKey("dev@example.com");
    },
    get stranger() {
      return makeKey("stranger@example.com");
    },
  };
}
