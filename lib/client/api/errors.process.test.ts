/** Logs and other processes know an error by its name alone. */
import { build } from "esbuild";
import { expect, it } from "vitest";

it("keeps its errors' names when a bundler renames classes", async () => {
  const { outputFiles } = await build({
    entryPoints: ["lib/client/api/errors.ts"],
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  const text = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  const minified: object = await import(/* @vite-ignore */ `data:text/javascript;base64,${text}`);
  type Class = new (...given: unknown[]) => Error;
  const own = Object.entries(minified as Record<string, Class>).filter(([name]) => /Error$/.test(name));
  expect(own.map(([, Own]) => new Own(403, {}, null).name)).toEqual(own.map(([name]) => name));
  expect(own).toHaveLength(11);
});
