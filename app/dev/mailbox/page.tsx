/** The development mailbox: mail that would have been sent, as text. Not there when mail is really sent. */
import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { Mailbox } from "#components/dev/mailbox";
import { getApp } from "#lib/http/context";
import { listMailbox } from "#lib/services/mailbox";

export const metadata: Metadata = { title: "Development mailbox", robots: { index: false, follow: false } };

export default async function MailboxPage() {
  const { context, env } = await getApp();
  if (env.mail !== "mailbox") notFound();
  const messages = await listMailbox(context.database);
  return <Mailbox messages={messages} origin={new URL(env.baseUrl).origin} />;
}
