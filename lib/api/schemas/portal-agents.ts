/** The portal's forms for agents: text fields, turned into the very bodies of the API (identity.ts). */
import { z } from "zod";
import { freezeBody, putToolsBody, registerBody, updateIdentityBody } from "./identity";
import { agentSlug } from "./primitives";

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const lines = (value: unknown) =>
  typeof value === "string"
    ? value
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "")
    : [];

/** An empty field is absent. */
export const registerAgentForm = z.preprocess((value) => {
  if (!isFields(value)) return value;
  const tools = lines(value["tools"]);
  const given = Object.entries(value).filter(([name, text]) => name !== "tools" && text !== "");
  return { ...Object.fromEntries(given), ...(tools.length > 0 && { tools }) };
}, registerBody);

/** The form has every field, so an empty one clears what was there. */
export const agentProfileForm = z.preprocess(
  (value) => {
    if (!isFields(value)) return value;
    const { slug, ...profile } = value;
    const cleared = Object.entries(profile).map(([name, text]) => [name, text === "" ? null : text]);
    return { slug, profile: Object.fromEntries(cleared) };
  },
  z.object({
    slug: agentSlug,
    profile: updateIdentityBody.pick({ name: true, description: true, code_hash: true, model_id: true }),
  }),
);

export const agentKeyForm = z.object({
  slug: agentSlug,
  public_key_pem: z.string().trim().min(1, "paste a public key, or generate one").max(1000),
  proof_of_possession: z.preprocess(
    (value) => (value === "" ? undefined : value),
    updateIdentityBody.shape.proof_of_possession,
  ),
});

export const agentSlugForm = z.object({ slug: agentSlug });

export const agentToolsForm = z.object({
  slug: agentSlug,
  tools: z.preprocess(lines, putToolsBody.shape.tools),
});

export const freezeAgentForm = z.object({ slug: agentSlug, reason: freezeBody.shape.reason });
const emptyAsAbsent = (value: unknown) => (value === "" ? undefined : value);
export const unfreezeAgentForm = z.object({
  slug: agentSlug,
  reason: z.preprocess(emptyAsAbsent, freezeBody.shape.reason.optional()),
});
