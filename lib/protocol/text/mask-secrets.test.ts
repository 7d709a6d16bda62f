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
  // Private keys, and what only looks like an address.
  ["pay KwFfpDsaF7yxCELuyrH9gP5XL7TAt5b9HPWC1xCQbmrxvhJgMQHb", "pay •••"],
  [`pay 0x${"4c0883a69102937d6231471b5dbb6204".repeat(2)}`, "pay •••"],
  ["pay 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", "pay •••"],
  ["pay bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdb", "pay •••"],
  ["pay 52908400098527886E0F7030069857D2E4643BC7", "pay •••"],
  ["token=1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "token=•••"],
])("masks the secret of %j", (text, masked) => {
  expect(maskSecrets(text)).toBe(masked);
});

it.each([
  "npm test -- --run lib/protocol",
  "rm -rf ./node_modules/.cache/some-very-long-folder-name-without-digits",
  "git commit -m 'Say who decided'",
  "cat /srv/app/releases/2026-11-29T08-00-00/config/production/settings.yaml",
  "Pay invoice 1042",
  "pay 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
  "pay 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
  "pay TA4Y62o6YC2Zsck9rZVGTvqW1AQ7X9zTnj",
  "pay bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
  "pay bc1p5d7rjq7g6rdk2yhzks9smlaqtedr4dekq08ge8ztwac72sfr9rusxg3297",
  "pay 0x52908400098527886E0F7030069857D2E4643BC7",
  "pay DE89370400440532013000",
  "",
])("leaves %j as it is", (text) => {
  expect(maskSecrets(text)).toBe(text);
});
