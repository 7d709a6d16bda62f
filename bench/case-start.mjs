/**
 * A start on a database with everything that earlier cases have put there, until the first verification is answered;
 * then the memory of each process, after it has answered and rendered a little and come to rest.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { attestMany, readerSlug } from "./fill.mjs";
import { printResult } from "./rounds.mjs";
import { readMemory } from "./usage.mjs";

export const name = "start";

const restSeconds = 5;

async function measure(service, title) {
  const [id] = await attestMany(service, 1);
  await service.stop();
  const startedMs = performance.now();
  await service.begin(`/v1/verify/${id}`);
  const tookSeconds = (performance.now() - startedMs) / 1000;
  console.log(`\n${title}`);
  printResult(`${title}: start until the first answer`, tookSeconds, "s", "less is better");
  await attestMany(service, 20);
  for (const path of ["/", "/docs", `/verify/${readerSlug}/${id}`])
    await (await fetch(`${service.baseUrl}${path}`)).arrayBuffer();
  await sleep(restSeconds * 1000);
  for (const { name: part, megabytes } of readMemory(service.pid()))
    printResult(`${title}: idle memory of ${part}`, megabytes, "MB", "less is better");
}

export async function run(servers) {
  await measure(await servers.service(), "npm start");
  await measure(await servers.service("one", { processes: "1" }), "PROCESSES=1");
}
