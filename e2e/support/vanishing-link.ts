/**
 * A network link to a database that can go down without a word: the database is reached through an address in a network
 * namespace of its own (Linux, as root, with iproute2).
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export interface VanishingLink {
  /** The database's address through the link. */
  url: string;
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** Why there can be no such link here; null if there can. */
export function whyNoLink(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "network namespaces need root on Linux";
  if (spawnSync("ip", ["-V"]).status !== 0) return "iproute2 is not installed (apt-get install iproute2)";
  if (spawnSync("unshare", ["-n", "true"]).status !== 0) return "network namespaces are not permitted here";
  return null;
}

/** Runs in the namespace, where only a file leads out. */
const relay = `require("node:net").createServer((near) => {
  const far = require("node:net").connect(process.argv[1]);
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
}).listen(5432, "0.0.0.0", () => console.log("ready"))`;

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: "pipe" });

export async function openVanishingLink(databaseUrl: string): Promise<VanishingLink> {
  const target = new URL(databaseUrl);
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-link-"));
  const file = path.join(folder, "out");
  const out = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    near.pipe(far).pipe(near);
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
  });
  await once(out.listen(file), "listening");
  const child = spawn("unshare", ["-n", process.execPath, "-e", relay, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const pid = String(child.pid);
  const [here, there] = [`fa${pid}`, `fb${pid}`];
  const network = `10.213.${(child.pid ?? 0) % 250}`;
  const inside = (...args: string[]) => run("nsenter", "-t", pid, "-n", "ip", ...args);
  run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", pid);
  run("ip", "addr", "add", `${network}.1/30`, "dev", here);
  run("ip", "link", "set", here, "up");
  inside("addr", "add", `${network}.2/30`, "dev", there);
  inside("link", "set", there, "up");
  const url = new URL(databaseUrl);
  url.hostname = `${network}.2`;
  url.port = "5432";
  return {
    url: url.href,
    down: () => void inside("link", "set", there, "down"),
    up: () => void inside("link", "set", there, "up"),
    close: async () => {
      // The namespace and both ends of the link go with the last process in it.
      child.kill("SIGKILL");
      await once(child, "exit");
      out.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
