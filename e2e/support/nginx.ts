/** nginx before servers of the tests, with the settings that operators get (docs/nginx/countersign.conf). */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
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

/** The same, listening without TLS on a port of its own. */
function adapt(text: string, instancesFile: string, port: number): string {
  const lines = text.split("\n").filter((line) => !/ssl_certificate/.test(line));
  const changes: [string, string][] = [
    ["/etc/nginx/countersign-instances", instancesFile],
    ["listen 443 ssl;", `listen 127.0.0.1:${port};`],
  ];
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`docs/nginx/countersign.conf has no ${from}`);
    return before.replace(from, to);
  }, lines.join("\n"));
}

export interface Nginx {
  base: string;
  port: number;
  /** Uses these servers from now on; resolves when no request goes by the list before. */
  use(instances: readonly { port: number; isDown?: boolean }[]): Promise<void>;
  stop(): Promise<void>;
}

const childrenOf = ({ pid }: ChildProcess) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);

export async function startNginx(program: string): Promise<Nginx> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-nginx-"));
  const port = await findPort();
  const place = (name: string) => path.join(folder, name);
  const list = (instances: readonly { port: number; isDown?: boolean }[]) => {
    const lines = instances.map(
      (one) => `server 127.0.0.1:${one.port} max_fails=0${one.isDown ? " down" : ""};`,
    );
    writeFileSync(place("instances"), lines.join("\n"));
  };
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
  writeFileSync(place("countersign.conf"), adapt(shown, place("instances"), port));
  list([{ port: 9 }]);
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
    use: async (instances) => {
      const before = childrenOf(child);
      list(instances);
      child.kill("SIGHUP");
      const isOld = (pid: string) => before.includes(pid);
      await vi.waitFor(() => expect(childrenOf(child).filter(isOld)).toEqual([]), { timeout: 60_000 });
    },
    stop: async () => {
      if (child.exitCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
