/** The local World ID stand-in's wallet. 404 once a World app is configured, and for other machines. */
import type { Metadata } from "next";
import { headers } from "next/headers";
import { notFound } from "next/navigation";
import { TestWallet } from "#components/dev/test-wallet";
import { isOwnRequest } from "#lib/server/next/node-http";
import { getApp } from "#lib/server/singleton";

export const metadata: Metadata = {
  title: "Test wallet",
  robots: { index: false, follow: false },
  referrer: "no-referrer",
};

interface WorldAppPageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function WorldAppPage({ searchParams }: WorldAppPageProps) {
  const app = await getApp();
  if (app.env.worldId !== "local" || !isOwnRequest(app, await headers())) notFound();
  const { i, k } = await searchParams;
  const isWhole = typeof i === "string" && typeof k === "string";
  return <TestWallet link={isWhole ? { id: i, key: k } : null} />;
}
