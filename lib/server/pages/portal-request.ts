/**
 * Caller of the portal's pages and server actions: session → membership → person. Actions must come from our own pages
 * (Origin), and their input is validated before any service sees it.
 */

import { revalidatePath } from "next/cache";
import { cookies, headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { cache } from "react";
import type { z } from "zod";
import { requireSameOrigin } from "#lib/api/http/common-headers";
import type { MemberPrincipal, UserPrincipal } from "#lib/api/http/context";
import {
  enforceLimit,
  keyRequestAddressPolicy,
  knownDevicePolicy,
  limitPolicy,
} from "#lib/api/http/pipeline";
import { toAppError } from "#lib/api/http/problem";
import {
  type FormState,
  type FormValues,
  failedState,
  readForm,
  shownOrganizationField,
  switchedOrganization,
} from "#lib/api/schemas/form-state";
import { AppError } from "#lib/errors";
import { sentence } from "#lib/protocol/text/display-text";
import { requestAddress } from "#lib/server/next/node-http";
import { type App, getApp } from "#lib/server/singleton";
import {
  type Act,
  ensureMemberships,
  type MembershipView,
  requireRole,
} from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { findKnownDevice, knownDeviceCookie, portalCookie, readSession, safePortalPath } from "./session";

const organizationCookie = "countersign-organization";

export interface Portal {
  app: App;
  context: Context;
  person: MemberPrincipal;
  membership: MembershipView;
  memberships: MembershipView[];
}

export async function currentAddress(): Promise<string> {
  return requestAddress(await getApp(), await headers());
}

/** Null if the visitor isn't signed in. Creates no organization. */
export const readUser = cache(async (): Promise<UserPrincipal | null> => {
  const session = await readSession();
  if (session === null) return null;
  const ip = await currentAddress();
  const { userId, email, label } = session;
  return { kind: "user", userId, email, ip, session: label };
});

/** The first visit creates the organization. The cookie chooses among several, and only among the person's own. */
export const readPortal = cache(async (): Promise<Portal | null> => {
  const user = await readUser();
  if (user === null) return null;
  const app = await getApp();
  const memberships = await ensureMemberships(app.context, user);
  const wanted = (await cookies()).get(organizationCookie)?.value;
  const membership = memberships.find(({ organizationId }) => organizationId === wanted) ?? memberships[0];
  if (!membership) return null;
  const person = { ...user, organizationId: membership.organizationId };
  return { app, context: app.context, person, membership, memberships };
});

export interface SearchPageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

/** Sends strangers to the sign-in form, and back to `path` afterwards. */
export async function requirePortal(path: string): Promise<Portal> {
  const portal = await readPortal();
  if (portal === null) redirect(`/portal/sign-in?next=${encodeURIComponent(safePortalPath(path))}`);
  return portal;
}

const notFoundNames = new Set<string>([
  "not_found",
  "agent_not_found",
  "attestation_not_found",
  "authorization_not_found",
  "bad_request",
]);

function isNotFound(error: unknown): error is AppError {
  return error instanceof AppError && notFoundNames.has(error.errorName);
}

/** Runs a page's reading; what the person may not see does not exist. */
export async function orNotFound<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) notFound();
    throw error;
  }
}

/** Server actions run for any client that posts to them; Next's own check lets a request without `Origin` pass. */
export async function requireOwnPage(): Promise<void> {
  const { env } = await getApp();
  requireSameOrigin({ headers: await headers() }, env.baseUrl);
}

/**
 * Mails that a person causes count as key requests do: by the sender's address, and by the recipient's or, in its place, by the
 * browser's `device` in which the recipient signed in before.
 */
export async function limitMails(email: string, device: string | null = null): Promise<void> {
  const { context, env } = await getApp();
  await enforceLimit(context, limitPolicy(env, "key_request"), await currentAddress());
  if (device === null) await enforceLimit(context, keyRequestAddressPolicy(env), email);
  else await enforceLimit(context, knownDevicePolicy(env), device);
}

/** {@link findKnownDevice} of the browser that asks. */
export async function readKnownDevice(email: string): Promise<string | null> {
  const { context } = await getApp();
  return findKnownDevice(context, email, (await cookies()).get(knownDeviceCookie)?.value);
}

/** A client may post anything to a server action in place of a form. */
export const isForm = (given: unknown): given is FormData => given instanceof FormData;
export const noForm = () =>
  failedState("The form arrived incomplete. Reload the page and try again.", {}, {});

function fieldErrors(error: z.ZodError): Record<string, string> {
  return Object.fromEntries(error.issues.map((issue) => [issue.path.join("."), issue.message]).reverse());
}

function describeFailure(thrown: unknown, values: FormValues, context: Context): FormState<never> {
  const error = toAppError(thrown);
  if (error.errorName === "server_error" || error.errorName === "service_unavailable")
    context.logger.error({ err: error.cause ?? error }, "a portal action failed");
  const errors = Object.fromEntries(
    (error.errors ?? []).map(({ pointer, message }) => [pointer.slice(1).replaceAll("/", "."), message]),
  );
  return failedState(sentence(error.detail), errors, values);
}

const sessionEnded =
  "Your session has ended. Sign in again in another tab, then try again here: what you entered is kept.";

type Work<Subject extends unknown[], Input, Result> = (
  ...given: [...Subject, Input]
) => Promise<{ message: string; result: Result }>;

/** Ids of other organizations get the same 404 as unknown ones. */
async function runFor<Subject extends unknown[], Schema extends z.ZodType, Result>(
  findSubject: () => Promise<Subject | null>,
  schema: Schema,
  form: FormData,
  work: Work<Subject, z.output<Schema>, Result>,
): Promise<FormState<Result>> {
  if (!isForm(form)) return noForm();
  const { context } = await getApp();
  const values = readForm(form);
  try {
    await requireOwnPage();
    const subject = await findSubject();
    if (subject === null) throw new AppError("forbidden", sessionEnded);
    const parsed = schema.safeParse(values);
    if (!parsed.success)
      return failedState("Some fields were not accepted.", fieldErrors(parsed.error), values);
    const { message, result } = await work(...subject, parsed.data);
    return { status: "done", message, errors: {}, values: {}, result };
  } catch (error) {
    // Bad requests of a form are a choice that can't be met, which the form says.
    if (isNotFound(error) && error.errorName !== "bad_request") notFound();
    return describeFailure(error, values, context);
  }
}

/**
 * True if the page shows the chosen organization. One cookie chooses it for all tabs, so a page can be older than the choice,
 * and what is done on it must be meant for the organization that it shows.
 */
export function isShown({ person }: Portal, shownOrganization: unknown): boolean {
  return shownOrganization === person.organizationId;
}

/**
 * The frame of every server action of the portal; it acts for the organization that its page shows, or not at all, and looks
 * at nothing of the form for a role that may not do this.
 */
export async function runAction<Schema extends z.ZodType, Result>(
  act: Act,
  schema: Schema,
  form: FormData,
  work: Work<[Portal], z.output<Schema>, Result>,
): Promise<FormState<Result>> {
  const findSubject = async (): Promise<[Portal] | null> => {
    const portal = await readPortal();
    if (portal !== null && !isShown(portal, form.get(shownOrganizationField)))
      throw new AppError("forbidden", switchedOrganization);
    if (portal === null) return null;
    await requireRole(portal.context.database.db, portal.person, act);
    return [portal];
  };
  return runFor(findSubject, schema, form, work);
}

export async function runUserAction<Schema extends z.ZodType, Result>(
  schema: Schema,
  form: FormData,
  work: Work<[App, UserPrincipal], z.output<Schema>, Result>,
): Promise<FormState<Result>> {
  const findSubject = async (): Promise<[App, UserPrincipal] | null> => {
    const user = await readUser();
    return user === null ? null : [await getApp(), user];
  };
  return runFor(findSubject, schema, form, work);
}

/** For `then` of an action: the pages of this path are made again if it is done. */
export const revalidate =
  (...path: Parameters<typeof revalidatePath>) =>
  <Result>(state: FormState<Result>): FormState<Result> => {
    if (state.status === "done") revalidatePath(...path);
    return state;
  };

/** Makes server actions that do one thing. `path`: its pages are made again once it is done. */
export const portalActions =
  (path?: string, type?: "layout" | "page") =>
  <Schema extends z.ZodType, Result>(
    act: Act,
    schema: Schema,
    work: Work<[Portal], z.output<Schema>, Result>,
  ) =>
  async (_state: FormState<Result>, form: FormData): Promise<FormState<Result>> => {
    const state = await runAction(act, schema, form, work);
    return path === undefined ? state : revalidate(path, type)(state);
  };

/** Chooses the organization that the portal shows from now on; membership is checked each time. */
export async function chooseOrganization(organizationId: string): Promise<void> {
  const { env } = await getApp();
  (await cookies()).set(organizationCookie, organizationId, portalCookie(env.baseUrl));
}
