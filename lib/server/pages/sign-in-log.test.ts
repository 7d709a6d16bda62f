/** A used link is no trouble of the service's: no error line, whatever else stays one. */
import { expect, it } from "vitest";
import { createLogger } from "#lib/logger";
import { createSignInLogger } from "./session";

/** Error with a name of next-auth's. */
const authError = (type: string) => Object.assign(new Error("gone"), { type });

function write(level: "error" | "warn", problem: unknown) {
  const lines: string[] = [];
  const logger = createSignInLogger(
    createLogger("debug", { write: (line: string) => void lines.push(line) }),
  );
  logger[level](problem);
  return lines.map((line) => JSON.parse(line) as { level: number; err?: object });
}

it("says in one line, below a warning and without a stack, that a link was refused", () => {
  const [line, ...others] = write("error", authError("Verification"));
  expect(others).toEqual([]);
  expect(line).toMatchObject({ level: 30, msg: expect.stringContaining("used already or is too old") });
  expect(line).not.toHaveProperty("err");
});

it("says so too of a person who may not sign up", () => {
  expect(write("error", authError("AccessDenied"))).toMatchObject([
    { level: 30, msg: expect.stringContaining("sign-up is closed") },
  ]);
});

it("names what failed and what the provider answered, which next-auth keeps in a cause that is no error", () => {
  const failed = (details: object) =>
    Object.assign(authError("CallbackRouteError"), { cause: { err: new Error("challenged"), ...details } });
  const parameters = {
    realm: "id",
    error: "invalid_client",
    error_description: "client authentication failed",
  };
  for (const details of [parameters, { 0: { scheme: "basic", parameters } }])
    expect(write("error", failed(details))).toMatchObject([
      { level: 50, err: { message: "challenged" }, answer: "invalid_client: client authentication failed" },
    ]);
  expect(write("error", failed({}))[0]).not.toHaveProperty("answer");
});

it("keeps what an operator should see", () => {
  expect(write("error", authError("AdapterError"))).toMatchObject([{ level: 50, err: { message: "gone" } }]);
  expect(write("error", new Error("gone"))).toMatchObject([{ level: 50 }]);
  expect(write("warn", "env-url-basepath-redundant")).toMatchObject([{ level: 40 }]);
});
