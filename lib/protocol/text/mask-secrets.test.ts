import { expect, it } from "vitest";
import { maskSecrets } from "./mask-secrets";

it.each([
  ["curl -H 'Authorization: Bearer abcdefgh.12345678'", "curl -H 'Authorization: Bearer •••'"],
  ["mysql --password hunter2hunter2 -u root", "mysql --password ••• -u root"],
  ["export API_KEY=abc123def && run", "export API_KEY=••• && run"],
  ['{"api_key": "abc123def"}', '{"api_key": "•••"}'],
  ["git push https://bot:hunter2@example.com/x.git", "git push https://bot:•••@example.com/x.git"],
  ["echo ghp_abcdefghijklmnopqrstuvwxyz0123456789", "echo •••"],
  ["aws --key AKIAABCDEFGHIJKLMNOP ls", "aws --key ••• ls"],
  ["login sk-proj-abcdefghijklmnop1234", "login •••"],
  ["use 3f786850e387550fdab836ed7e6dc881de23001b", "use •••"],
])("masks the secret of %j", (text, masked) => {
  expect(maskSecrets(text)).toBe(masked);
});

it.each([
  "npm test -- --run lib/protocol",
  "rm -rf ./node_modules/.cache/some-very-long-folder-name-without-digits",
  "git commit -m 'Say who decided'",
  "cat /srv/app/releases/2026-11-29T08-00-00/config/production/settings.yaml",
  "Pay invoice 1042",
  "",
])("leaves %j as it is", (text) => {
  expect(maskSecrets(text)).toBe(text);
});
