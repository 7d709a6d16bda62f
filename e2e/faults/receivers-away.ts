/** Mail and the receivers of webhooks are away: nobody waits for them, and what they missed comes once they are back, once. */
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import postgres from "postgres";
import { SMTPServer } from "smtp-server";
import { callServer } from "#e2e/http/server-process";
import { layWire, type Wire } from "#support/cut-connections";
import { type Away, end, fastMs, until, ways } from "./away";
import type { Work } from "./operations";
import type { Probes } from "./probes";
import { type Scenario, seconds, underLoad } from "./scenario";

interface Mailbox {
  url: string;
  mails: { to: string; subject: string }[];
  close(): Promise<void>;
}

async function startMailbox(): Promise<Mailbox> {
  const mails: Mailbox["mails"] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _session, done) => {
      void (async () => {
        const parsed = await PostalMime.parse(Buffer.concat(await stream.toArray()));
        const [to] = parsed.to ?? [];
        mails.push({ to: to?.address ?? "", subject: parsed.subject ?? "" });
        done();
      })();
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

const approver = "ana@example.com";

/** One who has accepted, and gets mail of requests that name her. */
const addApprover = (sql: postgres.Sql) => sql`
  INSERT INTO approvers (id, organization_id, name, email, status, requests)
  SELECT gen_random_uuid(), organization_id, 'Ana', ${approver}, 'confirmed', 'named' FROM api_keys LIMIT 1`;

interface Scene {
  work: Work;
  wires: readonly Wire[];
  probes: Probes;
  sql: postgres.Sql;
  mails: Mailbox["mails"];
  /** When connections broke. */
  interruptions: number[];
  problems: string[];
}

async function askApprover({ bases, key, ledger }: Work): Promise<{ id: string; ms: number }> {
  const startedMs = performance.now();
  const body = { agent_slug: "mail-bot", action: "Pay", approvers: ["Ana"] };
  const made = await callServer(bases[0] ?? "", "POST", "/v1/authorize", { key, body });
  if (made.status !== 201) throw new Error(`not asked: ${JSON.stringify(made.body)}`);
  ledger.authorizations.add(made.body.request_id);
  return { id: made.body.request_id, ms: performance.now() - startedMs };
}

async function tryWay(scene: Scene, way: Away): Promise<string> {
  const { work, wires, probes, sql, mails, interruptions, problems } = scene;
  const before = mails.length;
  interruptions.push(performance.now());
  for (const wire of wires) await way.begin(wire);
  const { id, ms } = await askApprover(work);
  if (ms > fastMs) problems.push(`${way.name}: asking took ${seconds(ms)}`);
  const longestMs = Math.max(ms, await probes.round([200, 201], problems, fastMs));
  // Until the first attempt has failed, or has come through late. The next one is due five seconds later.
  await until("an attempt to send mail", 60_000, async () => {
    const [row] = await sql<{ isTried: boolean }[]>`
      SELECT status = 'sent' OR attempts > 0 AND next_attempt_at < clock_timestamp() + interval '30 seconds' AS "isTried"
      FROM notices WHERE request_id = ${id}`;
    return row?.isTried === true;
  });
  const startedMs = performance.now();
  if (!way.isSlow && mails.length > before) problems.push(`${way.name}: mail came while it was away`);
  for (const wire of wires) await end(wire, way);
  await until("mail", 30_000, async () => mails.length > before);
  return `${way.name}: the API within ${seconds(longestMs)}, mail ${seconds(performance.now() - startedMs)} after`;
}

/** Before the connection broke, the first may have come without its answer being heard: then it comes again, as it should. */
const unheardMs = 3_000;

/** Finds deliveries that came twice though their answer was heard. `arrived`: when each came. */
function findDoubled(
  arrived: ReadonlyMap<string, readonly number[]>,
  interruptions: readonly number[],
): string[] {
  return [...arrived]
    .filter(([, times]) => times.length > 1)
    .filter(([, [first = 0]]) => !interruptions.some((at) => first <= at && at - first < unheardMs))
    .map(([id]) => `message ${id} came twice`);
}

export const receiversAway: Scenario = {
  name: "receivers away",
  run: async (chance) => {
    const mailbox = await startMailbox();
    const mailWire = await layWire(mailbox.url);
    const wires = [mailWire];
    const settings = async () => ({
      SMTP_URL: mailWire.url,
      MAIL_FROM: "Countersign <no-reply@example.com>",
      LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: "1000",
    });
    const webhookUrl = async ({ url }: { url: string }) => {
      const wire = await layWire(url);
      wires.push(wire);
      return wire.url;
    };
    const readSubject = async () => mailbox.mails.at(-1)?.subject ?? "";
    const arrived = new Map<string, number[]>();
    const interruptions: number[] = [];
    try {
      const outcome = await underLoad(
        { chance, settings, webhookUrl, readSubject },
        async ({ work, cluster, receiver }, probes, problems) => {
          if (receiver !== null)
            receiver.answer = ({ headers }) => {
              const id = headers["webhook-id"] ?? "";
              arrived.set(id, [...(arrived.get(id) ?? []), performance.now()]);
              return { status: 204 };
            };
          const sql = postgres(cluster.url, { max: 1, onnotice: () => {} });
          await addApprover(sql);
          const scene = { work, wires, probes, sql, mails: mailbox.mails, interruptions, problems };
          const said: string[] = [];
          for (const way of ways) said.push(await tryWay(scene, way));
          await sql.end();
          return said.join("; ");
        },
      );
      const mailed = mailbox.mails.filter(({ to }) => to === approver);
      const doubled = findDoubled(arrived, interruptions);
      if (mailed.length !== ways.length) doubled.push(`${mailed.length} mails came, not ${ways.length}`);
      const counts = `${arrived.size} webhooks, ${mailed.length} mails, ${doubled.length} doubled`;
      return { text: `${outcome.text}; ${counts}`, problems: [...outcome.problems, ...doubled] };
    } finally {
      for (const wire of wires) await wire.close();
      await mailbox.close();
    }
  },
};
