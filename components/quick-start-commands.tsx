/**
 * The commands of the quick start, in one place: the landing page and /docs/quick-start print them, and a test runs
 * them as printed (with its own address and code in place of the two placeholders).
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

/** `base` without a trailing slash. Needs curl, jq, openssl and, for the last step, Node. */
export function quickStartSteps(base: string): readonly QuickStartStep[] {
  return [
    {
      id: "request-key",
      title: "Request an API key",
      note: "A six-digit code arrives by e-mail. It is valid for ten minutes.",
      command: `curl -fsS ${base}/v1/keys/request \\
  -H 'Content-Type: application/json' \\
  -d '{"email":"${placeholderEmail}"}'`,
    },
    {
      id: "get-key",
      title: "Exchange the code for an API key",
      note: "Replace the zeros with the code from the e-mail. The key is shown only once; this command stores it in a variable.",
      command: `API_KEY=$(curl -fsS ${base}/v1/keys/verify \\
  -H 'Content-Type: application/json' \\
  -d '{"email":"${placeholderEmail}","code":"${placeholderCode}"}' | jq -r .api_key)`,
    },
    {
      id: "attest",
      title: "Create an attestation",
      note: "An agent's name belongs to the first account that uses it, so this one gets a random suffix. You can choose a permanent name when you're ready.",
      command: `AGENT=invoice-agent-$(openssl rand -hex 4)
INPUTS_HASH=$(printf 'invoice 1042, 100.00 EUR' | openssl dgst -sha256 -r | cut -d' ' -f1)
curl -fsS ${base}/v1/attest \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"agent_slug":"'$AGENT'","action":"Pay invoice 1042","inputs_hash":"'$INPUTS_HASH'"}' \\
  > receipt.json
jq -r .public_url receipt.json`,
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
