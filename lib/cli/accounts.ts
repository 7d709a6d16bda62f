/**
 *   npm run accounts -- list
 *   npm run accounts -- add-owner EMAIL [--name NAME | --organization ID]
 *   npm run accounts -- sign-in-link EMAIL
 *   npm run accounts -- end-second-factor --organization ID
 *
 * With the embedded database the service must be stopped; with PostgreSQL it may run.
 */
import "#lib/platform/node-wasm";
import { and, asc, eq, isNull } from "drizzle-orm";
import { keyRequestBody } from "#lib/api/schemas/keys";
import { organizationNameForm } from "#lib/api/schemas/portal";
import { runCommand, say } from "#lib/cli/shared/command-line";
import { type CommandContext, withCommandContext } from "#lib/cli/shared/open-service";
import { memberships, organizations, users } from "#lib/db/schema";
import { readCommandLine, single, UsageError, unexpectedWords } from "#lib/protocol/text/command-words";
import { createRandom, openSecrets } from "#lib/server/secrets";
import { recordAudit } from "#lib/services/accounts/audit";
import { addOwner } from "#lib/services/accounts/organizations";
import { createSignInLink, signInLinkSeconds } from "#lib/services/accounts/provider-sign-in";

const usage = `usage: npm run accounts -- list
       npm run accounts -- add-owner EMAIL [--name NAME | --organization ID]
       npm run accounts -- sign-in-link EMAIL
       npm run accounts -- end-second-factor --organization ID`;

function readAddress(word: string | undefined): string {
  const parsed = keyRequestBody.shape.email.safeParse(word);
  if (!parsed.success) throw new UsageError(`${word ?? "nothing"} is not an email address`);
  return parsed.data;
}

async function list({ database }: CommandContext): Promise<number> {
  const rows = await database.db
    .select({ id: organizations.id, name: organizations.name, email: users.email, role: memberships.role })
    .from(organizations)
    .innerJoin(memberships, eq(memberships.organization_id, organizations.id))
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(isNull(organizations.deleted_at))
    .orderBy(asc(organizations.created_at), asc(organizations.id), asc(memberships.created_at));
  if (rows.length === 0) say("Nobody belongs to an organization yet.");
  for (const { id, name, email, role } of rows) say(`${id} ${role} ${email} ${JSON.stringify(name ?? "")}`);
  return 0;
}

interface OwnerOptions {
  name: string | undefined;
  id: string | undefined;
}

const noOrganization = (id: string | undefined) =>
  new Error(`There is no organization ${id}. npm run accounts -- list shows them.`);

async function add(opened: CommandContext, email: string, { name, id }: OwnerOptions): Promise<number> {
  const context = { ...opened, random: createRandom(), settings: opened.env };
  const made = await addOwner(
    context,
    email,
    id === undefined ? { name: name ?? null } : { organizationId: id },
  );
  if (made === null) throw noOrganization(id);
  say(`${email} is an owner of the organization ${made}, and can sign in with a link by email:`);
  say(`${opened.env.baseUrl}/portal/sign-in`);
  return 0;
}

async function link(opened: CommandContext, email: string): Promise<number> {
  const { env, files } = opened;
  const context = {
    ...opened,
    random: createRandom(),
    settings: env,
    secrets: await openSecrets(env, files),
  };
  const url = await createSignInLink(context, email);
  if (url === null)
    throw new Error(
      `${email} belongs to no organization. npm run accounts -- add-owner ${email} changes that.`,
    );
  say(`Whoever opens this signs in as ${email}, once, within ${signInLinkSeconds / 60} minutes:`);
  say(url);
  return 0;
}

/** Helps owners who have all lost their passkeys: nobody else could let them in again. */
async function endSecondFactor({ database, clock }: CommandContext, organizationId: string): Promise<number> {
  const isAsked = await database.db.transaction(async (tx) => {
    const one = and(eq(organizations.id, organizationId), isNull(organizations.deleted_at));
    const asked = { second_factor: organizations.second_factor };
    const [found] = await tx.select(asked).from(organizations).where(one).for("update");
    if (!found) throw noOrganization(organizationId);
    if (found.second_factor.length === 0) return false;
    await tx.update(organizations).set({ second_factor: [] }).where(one);
    await recordAudit({ clock, random: createRandom() }, tx, {
      organizationId,
      actor: { kind: "system", id: "operator", ip: null },
      action: "organization.second_factor",
      subject: organizationId,
      detail: { second_factor: [] },
    });
    return true;
  });
  say(
    isAsked
      ? `The organization ${organizationId} asks for no passkey any more. An owner can ask for it again in Settings.`
      : `The organization ${organizationId} didn't ask for a passkey. Nothing has changed.`,
  );
  return 0;
}

runCommand(usage, async (argv) => {
  const line = readCommandLine(argv, { valued: ["name", "organization"] });
  const [command = "", ...words] = line.words;
  const options = { name: single(line, "name"), id: single(line, "organization") };
  const isBare = (options.name ?? options.id) === undefined;
  if (!["list", "add-owner", "sign-in-link", "end-second-factor"].includes(command))
    throw new UsageError(
      `list, add-owner, sign-in-link or end-second-factor is expected, not ${command || "nothing"}`,
    );
  const isEnd = command === "end-second-factor";
  if (command !== "add-owner" && !isEnd && !isBare) throw new UsageError(`${command} takes no options`);
  if (options.name !== undefined && options.id !== undefined)
    throw new UsageError("--name is for a new organization: leave it out with --organization");
  if (isEnd && options.id === undefined) throw new UsageError("end-second-factor needs --organization");
  if (options.id !== undefined && !/^[0-9a-f-]{36}$/.test(options.id))
    throw new UsageError("--organization: must be an id, as npm run accounts -- list shows it");
  const places = command === "list" || isEnd ? 0 : 1;
  if (words.length > places) throw unexpectedWords(words, places);
  if (command === "list") return withCommandContext(list);
  if (isEnd) return withCommandContext((opened) => endSecondFactor(opened, options.id ?? ""));
  const email = readAddress(words[0]);
  if (command === "sign-in-link") return withCommandContext((opened) => link(opened, email));
  if (options.name !== undefined && !organizationNameForm.shape.name.safeParse(options.name).success)
    throw new UsageError("--name: must be 1-100 characters");
  return withCommandContext((opened) => add(opened, email, options));
});
