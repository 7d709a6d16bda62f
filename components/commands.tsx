/**
 * The shell commands that pages show, in one place: the landing page, /docs/quick-start, the portal and the README print
 * them, and tests run them as printed (with an address and a code in place of the two placeholders).
 */

export interface QuickStartStep {
  readonly id: "request-key" | "get-key" | "attest" | "verify";
  readonly title: string;
  readonly note: string;
  readonly command: string;
}

/** A placeholder in the first two commands for the visitor's own address. */
export const placeholderEmail = "you@example.com";
/** Stands in the second command; the visitor puts the code from the mail there. */
export const placeholderCode = "000000";

/** No other organization has a name that ends in 32 random bits. */
const ownSlug = "invoice-bot-$(openssl rand -hex 4)";

/** Says why it failed, and ends the shell's line with an error: `field` or the problem's `detail`. */
const readField = (field: string, file = "") => `jq -er '.${field} // error(.detail)'${file && ` ${file}`}`;

/** `body` as the shell sees it, in single quotes. */
function post(url: string, body: string, isKeyed = true): string {
  return [
    `curl --fail-with-body -sS ${url}`,
    ...(isKeyed ? ['  -H "Authorization: Bearer $COUNTERSIGN_API_KEY"'] : []),
    `  -d '${body}'`,
  ].join(" \\\n");
}

/** `email` may hold an apostrophe, which would end the shell's quotes. */
export function requestKeyCommand(base: string, email = placeholderEmail): string {
  return post(`${base}/v1/keys/request`, JSON.stringify({ email }).replaceAll("'", "'\\''"), false);
}

/** Leaves the answer in `receipt.json` and prints the public link. */
export function attestCommand(base: string): string {
  return `AGENT=${ownSlug}
INPUTS_HASH=sha256:$(printf 'invoice 1042, 100.00 EUR' | openssl dgst -sha256 -r | cut -d' ' -f1)
${post(`${base}/v1/attest`, `{"agent_slug":"'$AGENT'","action":"Pay invoice 1042","inputs_hash":"'$INPUTS_HASH'"}`)} \\
  > receipt.json
${readField("public_url", "receipt.json")}`;
}

export function authorizeCommand(base: string): string {
  return `AGENT=${ownSlug}
${post(`${base}/v1/authorize`, `{"agent_slug":"'$AGENT'","action":"Pay invoice 1042","amount":{"value":"100","currency":"EUR"},"context":{"recipient":"Example Ltd"}}`)}`;
}

export function registerCommand(base: string): string {
  return `AGENT=${ownSlug}
${post(`${base}/v1/identity/register`, `{"slug":"'$AGENT'","name":"Invoice bot"}`)}`;
}

/** `base` without a trailing slash. Needs curl, jq, openssl and, for the last step, Node. */
export function quickStartSteps(base: string): readonly QuickStartStep[] {
  const exchange = post(
    `${base}/v1/keys/verify`,
    `{"email":"${placeholderEmail}","code":"${placeholderCode}"}`,
    false,
  );
  return [
    {
      id: "request-key",
      title: "Request an API key",
      note: "A six-digit code arrives by email. It is valid for ten minutes.",
      command: requestKeyCommand(base),
    },
    {
      id: "get-key",
      title: "Exchange the code for an API key",
      note: "Replace the zeros with the code from the email. The key is shown only once; this command stores it in a variable.",
      command: `COUNTERSIGN_API_KEY=$(${exchange} | ${readField("api_key")})
export COUNTERSIGN_API_KEY`,
    },
    {
      id: "attest",
      title: "Create an attestation",
      note: "An agent's name belongs to the first account that uses it, so this one gets a random suffix. You can choose a permanent name when you're ready.",
      command: attestCommand(base),
    },
    {
      id: "verify",
      title: "Open the link, or verify it on your own machine",
      note: "The last command printed a link that anyone can open. The offline verifier checks the same receipt without a browser.",
      command: `curl -fsSO ${base}/verify.mjs
node verify.mjs ${base}/v1/verify/$(jq -r .attestation_id receipt.json)`,
    },
  ];
}

/** All four commands in one block, as in the README. */
export function quickStartScript(base: string): string {
  return quickStartSteps(base)
    .map(({ title, command }, index) => `# ${index + 1}. ${title}\n${command}`)
    .join("\n\n");
}

export interface HookStep {
  readonly title: string;
  readonly command: string;
}

const hookKey = "~/.config/countersign/hook.key";

/** One-line commands. The first reads the key from the terminal, which keeps it out of the shell's history. */
export function hookSteps(base: string, slug: string): readonly HookStep[] {
  return [
    {
      title: "Save the key: paste it, then press Enter and Ctrl+D",
      command: `mkdir -p ~/.config/countersign && (umask 077 && cat > ${hookKey})`,
    },
    {
      title: "Install the hook",
      command: `curl -fsSO ${base}/countersign.mjs && node countersign.mjs hook install --url ${base} --agent ${slug} --ask Bash --key-file ${hookKey} --yes`,
    },
    {
      title: "Restart the agent, then check that the hook is live",
      command: "node countersign.mjs hook install --check",
    },
  ];
}
