/** Ports for what tests start. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Vitest counts its workers from one, Playwright from zero; no worker looks among another's ports. */
const worker = Number(process.env["VITEST_POOL_ID"] ?? process.env["TEST_PARALLEL_INDEX"] ?? 0) % 10;
let last = 10_000 + worker * 2_000 + randomInt(1_000);

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port);
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}

/**
 * Below those that the system gives to whoever asks for any port, and to each connection: nobody else gets it before the
 * program that it is for.
 */
export async function findPort(): Promise<number> {
  last += 1;
  return (await isFree(last)) ? last : findPort();
}
