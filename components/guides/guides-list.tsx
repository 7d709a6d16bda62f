/** The guides in reading order. Their texts are `content/<slug>.md`, and the parts of docs/wire.md. */
export const groups = [
  {
    title: "Start",
    guides: [
      {
        slug: "quick-start",
        title: "Quick start",
        description: "Four commands to a link anyone can verify.",
      },
      {
        slug: "attest",
        title: "Attest",
        description: "Record what an agent did: fields, signatures, verdicts, visibility.",
      },
      {
        slug: "approve",
        title: "Human authorization",
        description: "Ask a person, wait for the decision, and attach it to the attestation.",
      },
      {
        slug: "approvers",
        title: "Approvers",
        description: "Notify the right people by email and in the portal that a decision waits.",
      },
      {
        slug: "two-of-finance",
        title: "Two people of finance",
        description: "Require approvals of enrolled people, by passkey, with World ID or without.",
      },
      {
        slug: "roles",
        title: "Roles and second factor",
        description: "Who may do what in an organization, and what it asks a passkey for.",
      },
      {
        slug: "rules",
        title: "Rules and standing approvals",
        description: "Ask people only when it matters: from forty questions to three rules.",
      },
      {
        slug: "stop",
        title: "Stop an agent",
        description: "Freeze an agent at once, and take back an approval that nothing has used.",
      },
      {
        slug: "authzen",
        title: "AuthZEN (experimental)",
        description: "Ask what rules and standing approvals would decide, without making a request.",
      },
    ],
  },
  {
    title: "Agents",
    guides: [
      {
        slug: "client",
        title: "Client library",
        description: "Attest, ask and verify from TypeScript, and run only what a human approved.",
      },
      {
        slug: "command-line",
        title: "Command line",
        description: "One file for shells and scripts: attest, ask a human, verify.",
      },
      {
        slug: "mcp",
        title: "MCP server",
        description: "Tools for Claude, Cursor, VS Code and other assistants.",
      },
      {
        slug: "hook",
        title: "Hook for coding agents",
        description: "Claude Code and others ask a human before they use a tool.",
      },
      {
        slug: "opentelemetry",
        title: "OpenTelemetry",
        description: "Tools that ran, recorded from the traces and events that agents already send.",
      },
      {
        slug: "ai-sdk",
        title: "Vercel AI SDK",
        description: "A tool that runs only after a human approved exactly its arguments.",
      },
      {
        slug: "langgraph",
        title: "LangGraph",
        description: "A step of a graph that waits for a human, across runs and processes.",
      },
      {
        slug: "openai-agents",
        title: "OpenAI Agents SDK",
        description: "A tool whose approval is a human's, not the run state's.",
      },
      {
        slug: "plain-http",
        title: "Plain fetch and curl",
        description: "The whole gate by hand, for any language.",
      },
      {
        slug: "approval-cards",
        title: "Cards for Slack, Teams and email",
        description: "One link, no button that decides.",
      },
      {
        slug: "github-deployments",
        title: "GitHub deployments",
        description: "A deployment protection rule that asks a human.",
      },
      {
        slug: "webhooks",
        title: "Webhooks",
        description: "Get a signed message when a human decides or an agent attests.",
      },
    ],
  },
  {
    title: "Python",
    guides: [
      {
        slug: "python",
        title: "Python",
        description: "Attest, ask and verify from Python, and run only what a human approved.",
      },
      {
        slug: "python-pydantic-ai",
        title: "Pydantic AI",
        description: "A decorated tool that runs only after a human approved exactly its arguments.",
      },
      {
        slug: "python-openai-agents",
        title: "OpenAI Agents SDK for Python",
        description: "A decorated tool whose approval is a human's, not the run state's.",
      },
      {
        slug: "python-langchain",
        title: "LangChain and LangGraph for Python",
        description: "A middleware that gates an agent's tools, across runs and processes.",
      },
      {
        slug: "python-crewai",
        title: "CrewAI",
        description: "A gate around a tool, where the framework's hooks fail open.",
      },
      {
        slug: "python-agent-framework",
        title: "Microsoft Agent Framework",
        description: "A function middleware that asks a human, whatever the messages say.",
      },
      {
        slug: "python-google-adk",
        title: "Google Agent Development Kit",
        description: "A tool whose confirmation is a human's, not the session's.",
      },
      {
        slug: "python-other-frameworks",
        title: "Other Python frameworks",
        description: "Agno, Strands, Haystack, LlamaIndex, smolagents: one decorator for all.",
      },
      {
        slug: "python-claude-agent-sdk",
        title: "Claude Agent SDK",
        description: "Hooks that ask a human before Bash or any other tool runs.",
      },
    ],
  },
  {
    title: "Check",
    guides: [
      {
        slug: "verify-offline",
        title: "Verify offline",
        description: "Repeat every check with the offline verifier, openssl or a Sigstore client.",
      },
      {
        slug: "own-tool",
        title: "Check it with your own tool",
        description:
          "What openssl, Sigstore's clients, WebAuthn, Cedar and other libraries check, and what they can't.",
      },
      {
        slug: "record",
        title: "The record of an agent",
        description: "How a missing attestation shows, and what completeness doesn't mean.",
      },
      {
        slug: "evidence-pack",
        title: "Evidence pack",
        description: "One file for an auditor, and the command that checks all of it offline.",
      },
      {
        slug: "zero-knowledge",
        title: "Zero-knowledge disclosure",
        description: "Prove selected fields of a private attestation and hide the rest.",
      },
      {
        slug: "security",
        title: "Security model",
        description: "What an attestation proves, and what it doesn't.",
      },
    ],
  },
  {
    title: "Reference",
    guides: [
      {
        slug: "wire",
        title: "Wire format",
        description: "The rules behind the API: errors, operations, authentication, limits.",
      },
      {
        slug: "wire-attestations",
        title: "Wire: attestations",
        description: "What is signed, what a check says, lists, search, batches, receipts as files, erasure.",
      },
      {
        slug: "wire-approvals",
        title: "Wire: approvals",
        description: "Authorization requests, and what an approval covers.",
      },
      {
        slug: "wire-rules",
        title: "Wire: approvers, rules, webhooks",
        description: "Enrolled approvers, when a person is asked, and the messages that tell you.",
      },
      {
        slug: "wire-log",
        title: "Wire: agents and log",
        description: "Agents and their records, API keys, the service, the log, versions.",
      },
      {
        slug: "wire-disclosure",
        title: "Wire: traces, disclosure, packs",
        description: "Reports by traces, zero-knowledge proofs of selected fields, and evidence packs.",
      },
      {
        slug: "limits",
        title: "Limits",
        description: "Rate limits, sizes, and the headers that report them.",
      },
      { slug: "errors", title: "Errors", description: "Every error code: what it means and what to do." },
      {
        slug: "reasons",
        title: "Reasons",
        description: "Why a check did not pass: every code and its meaning.",
      },
      {
        slug: "run-your-own",
        title: "Run your own",
        description: "Start an instance, and configure a public one.",
      },
      {
        slug: "changelog",
        title: "Changelog",
        description: "Versions, and where the API is deliberately strict.",
      },
    ],
  },
] as const;
