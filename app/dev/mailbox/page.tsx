/**
 * The development mailbox: mail that would have been sent, as text. Not there when mail is really sent, nor for
 * other machines.
 */
import type { Metadata } from "next";
import { headers } from "next/headers";
import { notFound } from "next/navigation";
import { Mailbox } from "#components/dev/mailbox";
import { listMailbox } from "#lib/mail/mailbox";
import { isOwnRequest } from "#lib/runtime/server/request-address";
import { getApp } from "#lib/runtime/singleton";

export const metadata: Metadata = { title: "Development mailbox", robots: { index: false, follow: false } };

export default async function MailboxPage() {
  const app = await getApp();
  const { context, env } = app;
  if (env.mail !== "mailbox" || !isOwnRequest(app, await headers())) notFound();
  const messages = await listMailbox(context.database);
  return <Mailbox messages={messages} origin={new URL(env.baseUrl).origin} />;
}
