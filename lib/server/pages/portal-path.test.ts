import { expect, it } from "vitest";
import { safePortalPath } from "./session";

it.each(["/portal", "/portal/keys", "/portal/invitations/aZ09_-"])(
  "keeps the portal's own path %s",
  (path) => {
    expect(safePortalPath(path)).toBe(path);
  },
);

it.each([
  "",
  null,
  undefined,
  "/",
  "/portalx",
  "//evil.example",
  "/portal//evil.example",
  "/portal/../v1",
  "/portal/%2e%2e",
  "/portal\\evil.example",
  "/portal/keys?x=1",
  "https://evil.example/portal",
  "javascript:alert(1)",
  "/portal\n/keys",
])("sends everything else to the overview: %s", (path) => {
  expect(safePortalPath(path)).toBe("/portal");
});
