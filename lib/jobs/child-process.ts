/**
 * A program in a process of its own, for work that may take the process down or never end: one task at a time. It starts
 * with the first task and ends after a while without one. If it ends or takes too long, its task fails and the next task
 * starts another.
 */
import { type ChildProcess, fork, type SerializationType } from "node:child_process";
import { once } from "node:events";

export interface ChildOptions {
  /** Absolute path; each message is a task, which it answers with one message. */
  program: string;
  idleMs: number;
  /** Added to the limit of a process's first task. */
  startMs: number;
  /** Default: JSON. */
  serialization?: SerializationType;
  onStart?(child: ChildProcess): void;
}

export interface Child {
  run(task: object, limitMs: number): Promise<unknown>;
  close(): void;
}

export class ChildEndedError extends Error {}

export class ChildOverdueError extends ChildEndedError {}

function start({ program, serialization = "json", onStart }: ChildOptions): ChildProcess {
  const child = fork(program, {
    // None of the server's environment or flags goes with it.
    env: { NODE_ENV: "production" },
    execArgv: [],
    serialization,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  // The process does not hold the server: it ends when its channel closes.
  child.unref();
  child.channel?.unref();
  // Prevents an error between two tasks from ending the server.
  child.on("error", () => {});
  onStart?.(child);
  return child;
}

export function createChild(options: ChildOptions): Child {
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;

  function close(): void {
    clearTimeout(idle);
    if (child?.connected) child.disconnect();
    child = undefined;
  }

  async function exchange(current: ChildProcess, task: object): Promise<unknown> {
    const settled = new AbortController();
    try {
      const ended = once(current, "exit", settled).then(([code, signal]) => {
        throw new ChildEndedError(`it ended with ${signal ?? code}`);
      });
      const answered = once(current, "message", settled);
      current.send(task, (error) => void (error && current.kill("SIGKILL")));
      const [answer] = await Promise.race([answered, ended]);
      return answer;
    } finally {
      settled.abort();
    }
  }

  async function run(task: object, limitMs: number): Promise<unknown> {
    clearTimeout(idle);
    const isNew = !child?.connected;
    const current = child?.connected ? child : start(options);
    child = current;
    const patienceMs = limitMs + (isNew ? options.startMs : 0);
    let isOverdue = false;
    const limit = setTimeout(() => {
      isOverdue = true;
      current.kill("SIGKILL");
    }, patienceMs);
    try {
      const answer = await exchange(current, task);
      idle = setTimeout(close, options.idleMs).unref();
      return answer;
    } catch (cause) {
      if (child === current) child = undefined;
      current.kill("SIGKILL");
      if (isOverdue) throw new ChildOverdueError(`it took longer than ${patienceMs / 1000} s`, { cause });
      throw cause instanceof ChildEndedError ? cause : new ChildEndedError("it does not run", { cause });
    } finally {
      clearTimeout(limit);
    }
  }

  return { run, close };
}
