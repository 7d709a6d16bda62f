/** Checks the samples with tools from npm and prints a line for each, "name: ok" or the tool's message. */
import { readFileSync } from "node:fs";
import path from "node:path";

const read = (name) => JSON.parse(readFileSync(path.join(process.argv[2], name), "utf8"));

const canonical = (canonicalize) => {
  const failed = read("jcs.json").filter(({ input, bytes }) => canonicalize(JSON.parse(input)) !== bytes);
  if (failed.length > 0) throw new Error(`not ${failed.map(({ name }) => name).join(", ")}`);
};

const tools = {
  "jose 6.2.18": async () => {
    const { importJWK } = await import("jose");
    for (const key of read("jwks.json").keys) await importJWK(key);
  },
  "canonicalize 5.1.0": async () => canonical((await import("canonicalize")).default),
  "json-canonicalize 3.0.1": async () => canonical((await import("json-canonicalize")).canonicalize),
  "@truestamp/canonify 2.1.0": async () => canonical((await import("@truestamp/canonify")).canonify),
};

for (const [name, check] of Object.entries(tools)) {
  const said = await check().then(
    () => "ok",
    (error) => String(error.message).split("\n")[0],
  );
  console.log(`${name}: ${said}`);
}
