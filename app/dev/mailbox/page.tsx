/**
 * The development mailbox: mail that would have been sent, as text. Not there when mail is really sent, nor for
 * strangers.
 */
import type { Metadata } from "next";
import { headers } from "next/headers";
import { notFound } from "next/navigation";
import { Mailbox } from "#components/dev/mailbox";
import { getApp } from "#lib/app/app";
import { requestAddress } from "#lib/app/request-address";
import { isNearby } from "#lib/door/client-ip";
import { listMailbox } from "#lib/mail/mailbox";

export const metadata: Metadata = { title: "Development mailbox", robots: { index: false, follow: false } };

export default async function MailboxPage() {
  const app = await getApp();
  const { context, env } = app;
  if (env.mail !== "mailbox" || !isNearby(requestAddress(app, await headers()))) notFound();
  const messages = await listMailbox(context.database);
  return <Mailbox messages={messages} origin={new URL(env.baseUrl).origin} />;
}
