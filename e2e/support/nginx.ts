/** nginx before servers of the tests, with the settings that operators get (docs/nginx/countersign.conf). */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, vi } from "vitest";
import { findPort } from "./ports";

/** Found, or installed as root on Debian; else the reason why not. */
export function findNginx(): { program: string } | { reason: string } {
  const given = process.env["TEST_NGINX"] ?? "/usr/sbin/nginx";
  if (existsSync(given)) return { program: given };
  const script = 'import { findNginx } from "./.ci/daemon.mjs"; console.log(findNginx());';
  try {
    const out = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    return { program: out.trim().split("\n").at(-1) ?? "" };
  } catch {
    return { reason: "nginx is not installed and cannot be: run `apt-get install nginx` as root" };
  }
}

/** The same in a folder of its own, listening without TLS on a port of its own. */
function adapt(text: string, folder: string, port: number): string {
  const lines = text.split("\n").filter((line) => !/ssl_certificate/.test(line));
  const changes: [string, string][] = [
    ["/etc/nginx/", `${folder}/`],
    ["listen 443 ssl;", `listen 127.0.0.1:${port};`],
  ];
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`docs/nginx/countersign.conf has no ${from}`);
    return before.replaceAll(from, to);
  }, lines.join("\n"));
}

/** The file that the configuration includes: all servers, and for each one the others. */
function describeServers(ports: readonly number[]): string {
  const group = (name: string, members: readonly number[]) =>
    `upstream ${name} { ${members.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(" ")} }`;
  const others = ports.map((port, n) =>
    group(
      `countersign-without-${n + 1}`,
      ports.filter((one) => one !== port),
    ),
  );
  return [group("countersign", ports), ...others].join("\n");
}

export interface Nginx {
  base: string;
  port: number;
  /** New requests go to the others. Counted from 0. */
  takeOut(n: number): void;
  putBack(n: number): void;
  stop(): Promise<void>;
}

/** Resolves when it answers; the servers needn't. */
export async function startNginx(program: string, serverPorts: readonly number[]): Promise<Nginx> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-nginx-"));
  const port = await findPort();
  const place = (name: string) => path.join(folder, name);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${place(name)};`,
  );
  const main = [
    ...(process.getuid?.() === 0 ? ["user root;"] : []),
    "worker_processes 2;",
    `pid ${place("pid")};`,
    "events {}",
    `http { access_log off; ${temporary.join(" ")} include ${place("countersign.conf")}; }`,
  ];
  writeFileSync(place("nginx.conf"), main.join("\n"));
  const shown = readFileSync("docs/nginx/countersign.conf", "utf8");
  writeFileSync(place("countersign.conf"), adapt(shown, folder, port));
  writeFileSync(place("countersign-instances"), describeServers(serverPorts));
  const args = ["-p", folder, "-e", place("error.log"), "-c", place("nginx.conf"), "-g", "daemon off;"];
  const child = spawn(program, args, { stdio: "inherit" });
  const base = `http://localhost:${port}`;
  const isUp = () =>
    fetch(base).then(
      () => true,
      () => child.exitCode !== null,
    );
  await vi.waitFor(async () => expect(await isUp()).toBe(true), { timeout: 60_000 });
  return {
    base,
    port,
    takeOut: (n) => writeFileSync(place(`without-${n + 1}`), ""),
    putBack: (n) => rmSync(place(`without-${n + 1}`)),
    stop: async () => {
      if (child.exitCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
