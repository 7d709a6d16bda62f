/**
 * Machine as the hook needs it, besides files: where programs are, who ends this one, and who may read what it writes.
 */

export interface Modes {
  file: number;
  folder: number;
}

export interface Machine {
  /** Path of this program; undefined if it is no file of its own. */
  programPath: string | undefined;
  nodePath: string;
  home: string;
  platform: string;
  /** This process's folder, and those that the agent names in the environment. */
  workingFolders: readonly string[];
  readVariable(name: string): string | undefined;
  absolute(path: string): string;
  /** Also true for the folder itself. Links are followed. */
  isInside(path: string, folder: string): Promise<boolean>;
  /** The repository that the path is in; null if it is in none. */
  findProject(path: string): Promise<string | null>;
  /** Who may do what with the file, as chmod(1) writes it; null if there is none. */
  readMode(path: string): Promise<number | null>;
  writeFile(path: string, text: string | Uint8Array, modes: Modes): Promise<void>;
  /** Throws if no file can be put there. Changes nothing. */
  requireWritable(path: string): Promise<void>;
  /** None if the folder isn't there. */
  listFiles(folder: string): Promise<{ name: string; ageMs: number }[]>;
  /** The user's number; null if there is nothing, or a link. */
  readOwner(path: string): Promise<number | null>;
  /** False if there is something already. */
  createFile(path: string, text: string): Promise<boolean>;
  /** Puts a file there as a whole, and makes its folder. False if there is something already, which stays. */
  createWhole(path: string, text: string, modes: Modes): Promise<boolean>;
  append(path: string, text: string, modes: Modes): Promise<void>;
  /** In no order; none if the folder isn't there. */
  listNames(folder: string): Promise<string[]>;
  /** Process numbers are of this machine. */
  host: string;
  processId: number;
  isRunning(processId: number): boolean;
  /** For every user of the machine to write in. */
  makeSharedFolder(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  randomHex(bytes: number): string;
  /** Aborted as soon as somebody asks this process to end. */
  listenForEnd(): AbortSignal;
}
