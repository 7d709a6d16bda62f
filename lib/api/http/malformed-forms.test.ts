/** Reports by Next about a form that it can't read become one short line; reports by our code stay as they are. */
import { expect, it, vi } from "vitest";
import { happened } from "#lib/instrumentation";
import { createLogger } from "#lib/logger";
import { runWithForm } from "./plain-page";
import { logConsole } from "./request-log";

const root = "/srv/countersign";
const runtime = `${root}/node_modules/next/dist/compiled/next-server/app-page-turbo.runtime.prod.js:15:84543`;
const framesOfNext = [
  "    at JSON.parse (<anonymous>)",
  `    at t.decodeReply (${runtime})`,
  "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
  "    at async Promise.all (index 1)",
  `    at async m (${root}/.next/server/chunks/ssr/node_modules_next_dist_0-amw._.js:1:11868)`,
];

function errorWith(...frames: string[]): Error {
  const error = new SyntaxError(`Unexpected end of form\n${"x".repeat(500)}`);
  error.stack = [`SyntaxError: ${error.message}`, ...frames].join("\n");
  return error;
}

/** Log lines of errors that are printed while a request is answered. */
function linesOf(errors: Error[], form: { isMalformed: boolean } | null) {
  const lines: string[] = [];
  const target = { ...console };
  logConsole(createLogger("info", { write: (line: string) => void lines.push(line) }), target);
  const print = () => {
    for (const error of errors) target.error("⨯", error);
  };
  if (form === null) print();
  else runWithForm(form, print);
  return lines;
}

it("is one line without a stack, however often Next says it, and counted", () => {
  const counted = vi.fn();
  happened.subscribe(counted);
  const form = { isMalformed: false };
  const lines = linesOf([errorWith(...framesOfNext), errorWith(...framesOfNext)], form);
  happened.unsubscribe(counted);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: 40,
    problem: "Unexpected end of form",
    msg: "a form could not be read",
  });
  expect(lines[0]).not.toContain("runtime");
  expect(lines[0]?.length).toBeLessThan(200);
  expect(form.isMalformed).toBe(true);
  expect(counted).toHaveBeenCalledExactlyOnceWith({ kind: "malformed form", name: "" }, expect.anything());
});

it.each([
  ["our bundle", [...framesOfNext, `    at j (${root}/.next/server/chunks/ssr/_0mfxf_-scx0vn._.js:1:898)`]],
  ["the server", [`    at openPages (${root}/dist/server.mjs:1:2)`, ...framesOfNext]],
  ["a driver", [`    at read (${root}/node_modules/postgres/src/connection.js:1:2)`, ...framesOfNext]],
  ["a lost connection", ["    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1555:16)"]],
  ["an unknown place", []],
])("stays an error with its stack if %s is in it", (_what, frames) => {
  const form = { isMalformed: false };
  const [line = ""] = linesOf([errorWith(...frames)], form);
  expect(JSON.parse(line)).toMatchObject({ level: 50, err: { type: "SyntaxError" } });
  expect(form.isMalformed).toBe(false);
});

it("is no malformed form if Next can't fetch the page that an action leads to, which the browser then does", () => {
  const lines: string[] = [];
  const target = { ...console };
  logConsole(createLogger("info", { write: (line: string) => void lines.push(line) }), target);
  const form = { isMalformed: false };
  runWithForm(form, () => target.error("failed to get redirect response", errorWith(...framesOfNext)));
  expect([lines, form.isMalformed]).toEqual([[], false]);
});

it("stays an error if no form was posted", () => {
  const [line = ""] = linesOf([errorWith(...framesOfNext)], null);
  expect(JSON.parse(line)).toMatchObject({ level: 50, err: { type: "SyntaxError" } });
});

it("is one line too if Next prints why before it throws, as for a form from another site", () => {
  const lines: string[] = [];
  const target = { ...console };
  logConsole(createLogger("info", { write: (line: string) => void lines.push(line) }), target);
  runWithForm({ isMalformed: false }, () => {
    target.error(
      "`x-forwarded-host` header with value `a` does not match `origin` header with value `b` from a forwarded Server Actions request. Aborting the action.",
    );
    target.error("⨯", errorWith(...framesOfNext));
    target.error("something else");
  });
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(["a form could not be read", "something else"]);
});
