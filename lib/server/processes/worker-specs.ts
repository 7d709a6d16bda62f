/**
 * The processes of one server, and what they and the one that started them say to each other. A child says `loaded`,
 * `opened`, `listening`, `unbound` and `drained` when it has done what it was asked; all open before any listens, and all
 * are drained before any closes, so whom a request is handed on to is there. `unbound`: it takes no new connection.
 */
import path from "node:path";

/** Writers and readers answer the API; there is one writer, which appends to the log. */
export type Role = "writer" | "reader" | "pages";

export type Done = "loaded" | "opened" | "listening" | "unbound" | "drained";

/** A process's part, and its name in metrics, which its replacement gets too. */
export interface WorkerSpec {
  role: Role;
  name: string;
}

export interface Setup {
  /** Folder of the sockets; its user's alone. */
  folder: string;
  peerSecret: string;
}

export type Order =
  | { todo: "open"; setup: Setup; name: string }
  | { todo: "listen" | "leave" | "drain" | "close" };

/** Where the writer answers calls, where it and the pages' process take whole requests, and where each tells its metrics. */
export const socketsIn = (folder: string) => ({
  calls: path.join(folder, "calls"),
  writer: path.join(folder, "writer"),
  pages: path.join(folder, "pages"),
  metrics: (name: string) => path.join(folder, `metrics-${name}`),
});
