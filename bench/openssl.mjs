/** Limit of this machine's processor: `openssl speed ed25519`, one thread. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parseOpensslSpeed } from "./figures.mjs";

export async function measureOpenssl() {
  const { stdout } = await promisify(execFile)("openssl", ["speed", "-seconds", "1", "ed25519"]);
  const speed = parseOpensslSpeed(stdout);
  const { signPerSecond, verifyPerSecond } = speed;
  console.log(`\nopenssl speed ed25519: ${signPerSecond} signatures/s, ${verifyPerSecond} verifications/s`);
  return speed;
}
