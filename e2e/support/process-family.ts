/** The processes of one server, seen from outside: who they are, and which of them has a connection. For Linux. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";

export interface Member {
  pid: number;
  role: string;
}

const read = (file: string) => readFileSync(file, "utf8");

/** The children of the server's first process, by the argument that they were started with. */
export function listMembers(pid: number): Member[] {
  const pids = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return pids.map((one) => ({
    pid: one,
    role: read(`/proc/${one}/cmdline`).split("\0").filter(Boolean).at(-1) ?? "",
  }));
}

/** The inode of the server's end of each connection, by the client's port. The kernel takes milliseconds to list them. */
function readInodes(serverPort: number): Map<number, string> {
  const portOf = (address = "") => Number.parseInt(address.split(":")[1] ?? "", 16);
  const rows = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => read(file).split("\n"));
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return new Map(
    fields
      .filter(([, local]) => portOf(local) === serverPort)
      .map(([, , remote, , , , , , , inode = ""]) => [portOf(remote), inode]),
  );
}

/** Files that the process has open. */
function listOpen(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return ""; // The connection was closed meanwhile.
    }
  });
}

/** Lists the processes that hold the server's end of a connection: several while it is handed over. */
export function findHolders(pids: readonly number[], port: number, clientPort: number): number[] {
  const socket = `socket:[${readInodes(port).get(clientPort)}]`;
  return pids.filter((pid) => listOpen(pid).includes(socket));
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely
export type MemberAnswer = { status: number; headers: Record<string, unknown>; body: any };

export interface Client {
  /** The process at the other end. */
  member: Member;
  call(method: string, path: string, options?: { key?: string; body?: unknown }): Promise<MemberAnswer>;
}

/** A client with one connection, which stays the same. */
async function openClient(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let used: Socket | undefined;
  const call: Client["call"] = (method, path, { key, body } = {}) =>
    new Promise((resolve, reject) => {
      const headers = {
        "content-type": "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      };
      const asked = request({ agent, host: "127.0.0.1", port, method, path, headers });
      asked.once("socket", (socket) => {
        used = socket;
      });
      asked.once("error", reject);
      asked.once("response", async (answer) => {
        const text = Buffer.concat(await answer.toArray()).toString();
        const isJson = /json/.test(answer.headers["content-type"] ?? "") && text !== "";
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: isJson ? JSON.parse(text) : text,
        });
      });
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  await call("GET", "/v1/health");
  return { call, clientPort: used?.localPort ?? 0, close: () => agent.destroy() };
}

/** Opens one client for each process that answers the API, the writer's first. */
export async function openClients({
  port,
  child,
}: {
  port: number;
  child: { pid?: number | undefined };
}): Promise<Client[]> {
  const members = listMembers(child.pid ?? 0).filter(({ role }) => role !== "pages");
  const clients = new Map<number, Client>();
  for (let tries = 0; clients.size < members.length; tries += 1) {
    if (tries === 25) throw new Error("a process of the server gets no connection");
    const opened = await Promise.all(Array.from({ length: 4 }, () => openClient(port)));
    const inodes = readInodes(port);
    const ends = members.map((member) => ({ member, open: listOpen(member.pid) }));
    for (const { call, clientPort, close } of opened) {
      const socket = `socket:[${inodes.get(clientPort)}]`;
      const member = ends.find(({ open }) => open.includes(socket))?.member;
      if (member === undefined) throw new Error("no process of the server has this connection");
      if (clients.has(member.pid)) close();
      else clients.set(member.pid, { member, call });
    }
  }
  return [...clients.values()].sort((a, b) => b.member.role.localeCompare(a.member.role));
}
