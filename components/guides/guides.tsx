/** The guides' texts, with this instance's address and the quick start's commands filled in. */
import { quickStartSteps } from "#components/commands";
import wire from "#docs/wire.md";
import { NPM_PACKAGE, PYTHON_WHEEL } from "#lib/protocol/statement/product";
import aiSdk from "./content/ai-sdk.md";
import approvalCards from "./content/approval-cards.md";
import approve from "./content/approve.md";
import approvers from "./content/approvers.md";
import attest from "./content/attest.md";
import authzen from "./content/authzen.md";
import changelog from "./content/changelog.md";
import client from "./content/client.md";
import commandLine from "./content/command-line.md";
import errors from "./content/errors.md";
import evidencePack from "./content/evidence-pack.md";
import githubDeployments from "./content/github-deployments.md";
import hook from "./content/hook.md";
import langgraph from "./content/langgraph.md";
import limits from "./content/limits.md";
import mcp from "./content/mcp.md";
import openaiAgents from "./content/openai-agents.md";
import opentelemetry from "./content/opentelemetry.md";
import ownTool from "./content/own-tool.md";
import plainHttp from "./content/plain-http.md";
import python from "./content/python.md";
import pythonAgentFramework from "./content/python-agent-framework.md";
import pythonClaudeAgentSdk from "./content/python-claude-agent-sdk.md";
import pythonCrewai from "./content/python-crewai.md";
import pythonGoogleAdk from "./content/python-google-adk.md";
import pythonLangchain from "./content/python-langchain.md";
import pythonOpenaiAgents from "./content/python-openai-agents.md";
import pythonOtherFrameworks from "./content/python-other-frameworks.md";
import pythonPydanticAi from "./content/python-pydantic-ai.md";
import quickStart from "./content/quick-start.md";
import reasons from "./content/reasons.md";
import record from "./content/record.md";
import roles from "./content/roles.md";
import rules from "./content/rules.md";
import runYourOwn from "./content/run-your-own.md";
import security from "./content/security.md";
import stop from "./content/stop.md";
import twoOfFinance from "./content/two-of-finance.md";
import verifyOffline from "./content/verify-offline.md";
import webhooks from "./content/webhooks.md";
import zeroKnowledge from "./content/zero-knowledge.md";
import { type GuideEntry, type GuideSlug, guideEntries } from "./guides-index";
import { listReasons, listRequirements } from "./reason-table";
import { splitWire } from "./wire-pages";

const texts: Record<GuideSlug, string> = {
  "quick-start": quickStart,
  attest,
  approve,
  approvers,
  roles,
  rules,
  stop,
  "two-of-finance": twoOfFinance,
  authzen,
  client,
  python,
  "python-pydantic-ai": pythonPydanticAi,
  "python-openai-agents": pythonOpenaiAgents,
  "python-langchain": pythonLangchain,
  "python-crewai": pythonCrewai,
  "python-agent-framework": pythonAgentFramework,
  "python-google-adk": pythonGoogleAdk,
  "python-other-frameworks": pythonOtherFrameworks,
  "python-claude-agent-sdk": pythonClaudeAgentSdk,
  "command-line": commandLine,
  mcp,
  hook,
  "ai-sdk": aiSdk,
  langgraph,
  "openai-agents": openaiAgents,
  opentelemetry,
  "plain-http": plainHttp,
  "approval-cards": approvalCards,
  "github-deployments": githubDeployments,
  webhooks,
  "own-tool": ownTool,
  "verify-offline": verifyOffline,
  record,
  "evidence-pack": evidencePack,
  "zero-knowledge": zeroKnowledge,
  security,
  ...splitWire(wire),
  limits,
  errors,
  reasons,
  "run-your-own": runYourOwn,
  changelog,
};

/** Digest and addresses of the programs that are served here, for guides. */
interface ServedPrograms {
  /** Hex; null before the build has made it. */
  readonly verifierSha256: string | null;
  readonly npmPackagePath: string;
  readonly pythonWheelPath: string;
}

/**
 * `{base}` becomes the public address, `{verify_sha256}` the checksum of the verifier that is served here,
 * `{npm_package}` and `{python_wheel}` the addresses of the clients' files, `{python_wheel_name}` the name of Python's,
 * `{step:<id>}` on a line of its own the quick start's command in a fence, `{reasons}` the table of reasons,
 * `{requirements}` that of questionnaires.
 */
function fillIn(text: string, base: string, programs: ServedPrograms | null): string {
  const commands = new Map<string, string>(quickStartSteps(base).map((step) => [step.id, step.command]));
  return text
    .replace(/^\{step:([a-z-]+)\}$/gm, (_, id: string) => {
      const command = commands.get(id);
      if (command === undefined) throw new Error(`guides: no quick start step "${id}"`);
      return `\`\`\`sh\n${command}\n\`\`\``;
    })
    .replace("{reasons}", listReasons)
    .replace("{requirements}", listRequirements)
    .replaceAll("{verify_sha256}", programs?.verifierSha256 ?? "(not built here)")
    .replaceAll("{npm_package}", base + (programs?.npmPackagePath ?? `/${NPM_PACKAGE}`))
    .replaceAll("{python_wheel}", base + (programs?.pythonWheelPath ?? `/${PYTHON_WHEEL}`))
    .replaceAll("{python_wheel_name}", PYTHON_WHEEL)
    .replaceAll("{base}", base);
}

/** Null for a slug that is no guide. `programs`: null where nobody runs what the guide prints. */
export function findGuide(
  slug: string,
  base: string,
  programs: ServedPrograms | null,
): (GuideEntry & { text: string }) | null {
  const entry = guideEntries.find((guide) => guide.slug === slug);
  return entry ? { ...entry, text: fillIn(texts[entry.slug], base, programs) } : null;
}
