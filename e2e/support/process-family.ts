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

/** The inode of the server's end of a connection. */
function findInode(serverPort: number, clientPort: number): string | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  const rows = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => read(file).split("\n"));
  const row = rows.find((line) => {
    const [, local = "", remote = ""] = line.trim().split(/\s+/);
    return local.endsWith(`:${hex(serverPort)}`) && remote.endsWith(`:${hex(clientPort)}`);
  });
  return row?.trim().split(/\s+/)[9];
}

function holds(pid: number, inode: string): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`;
    } catch {
      return false;
    }
  });
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely
export type MemberAnswer = { status: number; headers: Record<string, unknown>; body: any };

export interface Client {
  /** The process at the other end. */
  member: Member;
  call(method: string, path: string, options?: { key?: string; body?: unknown }): Promise<MemberAnswer>;
}

/** A client with one connection, which stays the same. */
async function openClient(port: number, members: readonly Member[]): Promise<Client> {
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
  const inode = findInode(port, used?.localPort ?? 0);
  const member = members.find(({ pid }) => inode !== undefined && holds(pid, inode));
  if (member === undefined) throw new Error("no process of the server has this connection");
  return { member, call };
}

/** One client for each process that answers the API, the writer's first. */
export async function openClients(server: {
  port: number;
  child: { pid?: number | undefined };
}): Promise<Client[]> {
  const members = listMembers(server.child.pid ?? 0).filter(({ role }) => role !== "pages");
  const clients = new Map<number, Client>();
  for (let tries = 0; clients.size < members.length; tries += 1) {
    if (tries === 100) throw new Error("a process of the server gets no connection");
    const client = await openClient(server.port, members);
    if (!clients.has(client.member.pid)) clients.set(client.member.pid, client);
  }
  return [...clients.values()].sort((a, b) => b.member.role.localeCompare(a.member.role));
}
