/**
 * The production server, one command and one port. With PROCESSES it is several processes (lib/server/processes/supervisor.ts);
 * else everything is done in this one.
 */
import "#lib/platform/node-wasm";
import cluster from "node:cluster";
import { type Env, loadEnvFile, readEnv } from "#lib/env";
import { logger } from "#lib/logger";
import { proxyGlobalFetch } from "#lib/platform/node-fetch";
import { type Role, startServerCluster } from "#lib/server/processes/supervisor";

/** A process loads only modules that it uses: the first of several is small, and only one holds Next. */
const openPages = async () => (await import("#lib/server/pages/open-pages")).openPages();

async function start(): Promise<void> {
  if (cluster.isWorker) {
    const { runChild } = await import("#lib/server/processes/run-process");
    return runChild(process.argv[2] as Role, openPages);
  }
  loadEnvFile();
  const env = readEnv();
  if (env.processCount > 1) await startServerCluster(env);
  else await (await import("#lib/server/processes/run-process")).startAlone(env, openPages);
  announce(env);
}

function announce(env: Env): void {
  logger.info(`Countersign is listening on ${env.baseUrl}`);
  if (env.DATABASE_URL === undefined) {
    logger.info(
      `The embedded database is in ${env.DATA_DIR}. It survives a crash of the process, but not of the machine. Set DATABASE_URL for evidence that matters.`,
    );
  }
  if (env.worldId === "local")
    logger.info("World ID: local stand-in. Approvals made here are permanently marked TEST.");
  if (env.worldId === "none") logger.info("Approvals: passkeys of enrolled approvers, without World ID.");
  if (env.mail === "mailbox") logger.info(`Mail isn't sent. Read it at ${env.baseUrl}/dev/mailbox`);
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof Error && !error.message.startsWith("Countersign"))
    logger.error({ err: error }, "the start failed");
  process.exit(1);
}

proxyGlobalFetch();
start().catch(fail);
