/** The page of an attestation of another log in the list leads to that log's service. */
import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { makeDataDir } from "#support/databases";
import { writeLogList } from "#support/listed-logs";
import { findPort } from "#support/ports";
import { callServer, startServer } from "./server-process";

it("a page of another log's attestation is a redirect, and of an unknown one none", async () => {
  const dataDir = await makeDataDir();
  const port = await findPort();
  const list = writeLogList(dataDir, [`http://localhost:${port}`, "https://two.example"]);
  const server = await startServer("server", dataDir, { PORT: String(port), LOG_LIST: list });
  try {
    const page = (ending: string) => `/verify/some-agent/0190a000-0000-7000-8000-0000000000${ending}`;
    const there = await callServer(server.base, "GET", page("02"));
    expect([there.status, there.headers.get("location")]).toEqual([307, `https://two.example${page("02")}`]);
    for (const ending of ["01", "03"])
      expect([ending, (await callServer(server.base, "GET", page(ending))).status]).toEqual([ending, 404]);
  } finally {
    await server.stop("SIGKILL");
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }
});
