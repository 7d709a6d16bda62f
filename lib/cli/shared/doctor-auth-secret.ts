/** Checks that AUTH_SECRET is this database's: of all stored data, only the keys of webhook endpoints tell. */
import { isNotNull } from "drizzle-orm";
import type { Secrets } from "#lib/api/http/context";
import type { Database } from "#lib/db/client";
import { webhookEndpoints } from "#lib/db/schema";
import type { Env } from "#lib/env";
import type { SecretFiles } from "#lib/log/signing/key-files";
import { countOf } from "#lib/protocol/text/count";
import { openSecrets } from "#lib/server/secrets";
import { openKeys, UnreadableKeys } from "#lib/services/webhooks/keys";
import type { Area } from "./findings";

function opens(secrets: Secrets, id: string, sealed: Uint8Array): boolean {
  try {
    openKeys({ secrets }, id, sealed);
    return true;
  } catch (error) {
    if (error instanceof UnreadableKeys) return false;
    throw error;
  }
}

const namedAtMost = 20;

export async function examineAuthSecret(
  env: Env,
  files: SecretFiles,
  { db }: Database,
  { ok, fault }: Area,
): Promise<void> {
  const { id, keys } = webhookEndpoints;
  const endpoints = await db.select({ id, keys }).from(webhookEndpoints).where(isNotNull(keys));
  if (endpoints.length === 0) return;
  const secrets = await openSecrets(env, files);
  const shut = endpoints.filter((one) => one.keys !== null && !opens(secrets, one.id, one.keys));
  const all = countOf(endpoints.length, "webhook endpoint");
  if (shut.length === 0) return ok(`AUTH_SECRET opens the keys of ${all}`);
  const named = shut.slice(0, namedAtMost).map((one) => one.id);
  const more = shut.length > namedAtMost ? ` and ${shut.length - namedAtMost} more` : "";
  fault(
    `AUTH_SECRET doesn't open the keys of ${shut.length} of ${all}: ${named.join(", ")}${more}`,
    "Bring back the AUTH_SECRET that this database was used with. If it is lost, ask the owners to rotate these endpoints: nothing is delivered to them until then.",
  );
}
