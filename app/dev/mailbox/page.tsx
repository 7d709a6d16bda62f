/**
 * The development mailbox: mail that would have been sent, as text. Not there when mail is really sent, nor for
 * other machines.
 */
import type { Metadata } from "next";
import { headers } from "next/headers";
import { notFound } from "next/navigation";
import { Mailbox } from "#components/dev/mailbox";
import { isOwnRequest } from "#lib/server/next/node-http";
import { getApp } from "#lib/server/singleton";
import { listMailbox } from "#lib/services/notifications/mailbox";

export const metadata: Metadata = { title: "Development mailbox", robots: { index: false, follow: false } };

export default async function MailboxPage() {
  const app = await getApp();
  const { context, env } = app;
  if (env.mail !== "mailbox" || !isOwnRequest(app, await headers())) notFound();
  const messages = await listMailbox(context.database);
  return <Mailbox messages={messages} origin={new URL(env.baseUrl).origin} />;
}
