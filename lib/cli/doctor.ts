/**
 *   npm run doctor             check this deployment's settings, database, keys, log, witnesses, mail and World
 *   npm run doctor -- --json   the same as JSON
 *
 * Says what is right and what to mend, and changes nothing. Exit code 1 if there is a fault.
 */
import "#lib/platform/node-wasm";
import { runCommand, say } from "#lib/cli/shared/command-line";
import { examine } from "#lib/cli/shared/doctor-keys";
import { encodeFindings } from "#lib/cli/shared/doctor-settings";
import { readVariables } from "#lib/env";
import { readCommandLine, unexpectedWords } from "#lib/protocol/text/command-words";

runCommand("usage: npm run doctor [-- --json]", async (argv) => {
  const { words, flags } = readCommandLine(argv, { flags: ["json"], isStrict: true });
  if (words.length > 0) throw unexpectedWords(words, 0);
  const findings = await examine(readVariables(), { fetch, clock: () => new Date() });
  const isFit = findings.every(({ status }) => status !== "fault");
  if (flags.has("json")) say(JSON.stringify({ ok: isFit, findings }, null, 2));
  else for (const line of encodeFindings(findings)) say(line);
  // A database that never answered may still be tried by its driver.
  setTimeout(() => process.exit(), 1_000).unref();
  return isFit ? 0 : 1;
});
