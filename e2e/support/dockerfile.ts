/** The instructions of Dockerfile, stage by stage. */
import { readFileSync } from "node:fs";

export type Instruction = [name: string, rest: string];

export const stages = readFileSync("Dockerfile", "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter(Boolean)
  .map((line): Instruction => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)])
  .reduce<Instruction[][]>((all, line) => {
    if (line[0] === "FROM") all.push([]);
    all.at(-1)?.push(line);
    return all;
  }, []);

export const finalStage = stages.at(-1) ?? [];

export const restsOf = (stage: readonly Instruction[], instruction: string): string[] =>
  stage.filter(([name]) => name === instruction).map(([, rest]) => rest);

export const imageEnvironment: Record<string, string> = Object.fromEntries(
  restsOf(finalStage, "ENV")
    .flatMap((rest) => rest.split(" "))
    .map((pair) => pair.split("=") as [string, string]),
);
