/** The built server as `npm start` runs it, started again whenever it has ended, as a service manager would. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ServerProcess, startServer } from "#e2e/http/server-process";
import { listMembers } from "#support/process-family";

export interface Instance {
  base: string;
  /** True if it has answered since it was last started, and has not ended. */
  isUp(): boolean;
  /** SIGKILL to all of its processes; false if it is just being started. */
  killAll(): boolean;
  /** To the first process alone, which starts the others. */
  killFirst(): boolean;
  /** To one of the others, by its place in the list. */
  killMember(place: number): boolean;
  /** Resolves when it answers. */
  ready(): Promise<void>;
  output(): string;
  stop(): Promise<void>;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const isRunning = ({ child }: ServerProcess) => child.exitCode === null && child.signalCode === null;

export function superviseInstance(port: number, settings: Record<string, string>): Instance {
  let isStopped = false;
  let server: ServerProcess | null = null;
  let lastOutput = "";
  const running = (async () => {
    while (!isStopped) {
      const started = await startServer("server", settings["DATA_DIR"] ?? "", {
        ...settings,
        PORT: String(port),
      });
      server = started;
      await started.exited;
      server = null;
      lastOutput = started.output();
      await sleep(100);
    }
  })();

  /** Returns false if there was no server to do it to. */
  function strike(choose: (pid: number) => number[]): boolean {
    const pid = server !== null && isRunning(server) ? server.child.pid : undefined;
    if (pid === undefined) return false;
    const struck = choose(pid);
    for (const one of struck) kill(one);
    return struck.length > 0;
  }
  const membersOf = (pid: number) => listMembers(pid).map((member) => member.pid);

  const instance: Instance = {
    base: `http://localhost:${port}`,
    isUp: () => server !== null && isRunning(server),
    killAll: () => strike((pid) => [pid, ...membersOf(pid)]),
    killFirst: () => strike((pid) => [pid]),
    killMember: (place) =>
      strike((pid) => {
        const members = membersOf(pid);
        return members.slice(place % members.length).slice(0, 1);
      }),
    ready: async () => {
      while (!instance.isUp()) await sleep(50);
    },
    output: () => server?.output() ?? lastOutput,
    stop: async () => {
      if (isStopped) return;
      isStopped = true;
      while (!strike((pid) => [pid, ...membersOf(pid)])) await sleep(50);
      await running;
    },
  };
  return instance;
}
