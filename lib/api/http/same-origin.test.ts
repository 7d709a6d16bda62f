/** Pages that may change something: `Origin` decides if there is one. */
import { expect, it } from "vitest";
import { requireSameOrigin } from "./common-headers";

type Sent = Record<string, string>;
const mayChange = (sent: Sent, baseUrl: string): boolean => {
  try {
    requireSameOrigin({ headers: new Headers(sent) }, baseUrl);
    return true;
  } catch {
    return false;
  }
};

const site = "https://countersign.example";

it("believes Origin first, and Sec-Fetch-Site only where Origin says nothing", () => {
  const cases: [Sent, boolean][] = [
    [{ origin: site }, true],
    [{ origin: site, "sec-fetch-site": "cross-site" }, true],
    [{ origin: "null", "sec-fetch-site": "same-origin" }, true],
    [{ "sec-fetch-site": "same-origin" }, true],
    [{ origin: "https://evil.example", "sec-fetch-site": "same-origin" }, false],
    [{ origin: "http://countersign.example", "sec-fetch-site": "same-origin" }, false],
    [{ origin: "", "sec-fetch-site": "same-origin" }, false],
    [{ origin: "null", "sec-fetch-site": "same-site" }, false],
    [{ origin: "null" }, false],
    [{ "sec-fetch-site": "none" }, false],
    [{}, false],
  ];
  for (const [sent, expected] of cases) expect([sent, mayChange(sent, site)]).toEqual([sent, expected]);
});

it("knows the other names of a loopback server, where page and request have the same one", () => {
  const base = "http://localhost:3000";
  const cases: [Sent, boolean][] = [
    [{ origin: "http://127.0.0.1:3000", host: "127.0.0.1:3000" }, true],
    [{ origin: "http://[::1]:3000", host: "[::1]:3000" }, true],
    [{ origin: "http://127.0.0.1:3000", host: "localhost:3000" }, false],
    [{ origin: "http://127.0.0.1:8080", host: "127.0.0.1:3000" }, false],
    [{ origin: "http://evil.example:3000", host: "evil.example:3000" }, false],
    [{ origin: "https://127.0.0.1:3000", host: "127.0.0.1:3000" }, false],
  ];
  for (const [sent, expected] of cases) expect([sent, mayChange(sent, base)]).toEqual([sent, expected]);
  const foreign = { origin: "https://10.0.0.7", host: "10.0.0.7" };
  expect(mayChange(foreign, site)).toBe(false);
});
