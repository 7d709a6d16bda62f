import { notFound } from "next/navigation";
import postgres from "postgres";

export const dynamic = "force-dynamic";

const sql = postgres(process.env.DATABASE_URL ?? "", { max: 10, onnotice: () => {} });

export default async function Page({ params }) {
  const { id } = await params;
  const [row] = await sql`SELECT payload, signature, created_at FROM records WHERE id = ${id}`;
  if (!row) notFound();
  return (
    <main>
      <h1>Record {id}</h1>
      <time>{row.created_at.toISOString()}</time>
      <pre>{Buffer.from(row.payload).toString()}</pre>
      <code>{Buffer.from(row.signature).toString("base64")}</code>
    </main>
  );
}
