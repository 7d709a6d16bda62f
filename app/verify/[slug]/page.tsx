/** /verify/<agent>: people shorten the address of a receipt, and want to know about its agent. */
import { redirect } from "next/navigation";

interface PageProps {
  readonly params: Promise<{ slug: string }>;
}

export default async function VerifyAgentPage({ params }: PageProps) {
  const { slug } = await params;
  redirect(`/agent/${slug}`);
}
