/**
 * POST /v1/authorize with an organization's rules enforced, against without: a request that the rules leave to people, and
 * one that they allow, which is decided, signed and logged at once. And what the engine takes in memory.
 */
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printResult, printSides, takeTurns } from "./rounds.mjs";
import { readMemory, withCpu } from "./usage.mjs";

export const name = "authorize";

const text = `
@id("small-amounts")
permit (principal, action == Action::"act", resource)
when {
  context has amount &&
  context.amount.currency == "EUR" &&
  context.amount.value.lessThanOrEqual(decimal("50.0"))
};
@id("never-delete")
forbid (principal, action, resource == Tool::"delete_database");
@id("two-of-us")
@approvals("2")
permit (principal, action == Action::"act_approved", resource)
when { context has amount && context.amount.value.greaterThan(decimal("500.0")) };
`;

/** Few, because each stays pending and is counted by those after it. */
const requests = 300;

const bodyOf = (value) => ({
  agent_slug: "bench-agent",
  action: "Pay invoice 1042 to Example Ltd",
  tool: "pay",
  amount: { value, currency: "EUR" },
  context: { payee: "Example Ltd" },
  expires_in_minutes: 60,
});

const ask = ({ port, key, meter }, value) =>
  withCpu(
    () =>
      runLoad({
        port,
        connections: 8,
        count: requests,
        next: () => httpRequest(port, "POST", "/v1/authorize", { key, body: bodyOf(value) }),
        status: 201,
      }),
    meter,
  );

/** Keys got by email can't write rules: the bench gives its own the scope. */
async function enforceRules(databases, { baseUrl, key, database }) {
  await databases.run(database, "UPDATE api_keys SET scopes = array_append(scopes, 'rules')");
  const answer = await fetch(`${baseUrl}/v1/rules`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ text, mode: "enforce", fallback: "ask" }),
  });
  if (!answer.ok) throw new Error(`PUT /v1/rules answered ${answer.status}: ${await answer.text()}`);
}

const totalMemory = (service) => readMemory(service.pid()).reduce((sum, { megabytes }) => sum + megabytes, 0);

export async function run(servers) {
  const without = await servers.service("authorize", { processes: "1" });
  const enforced = await servers.service("authorize_rules", { processes: "1" });
  const before = totalMemory(enforced);
  await enforceRules(servers.databases, enforced);
  const added = totalMemory(enforced) - before;
  const sides = await takeTurns({
    "no rules, people are asked": ask(without, "100"),
    "rules, people are asked": ask(enforced, "100"),
    "rules, allowed at once": ask(enforced, "20"),
  });
  printSides("POST /v1/authorize, 8 clients, one process", sides);
  const [none, asked, allowed] = Object.values(sides);
  printRatio("authorize with rules enforced, against without", asked.perSecond / none.perSecond);
  printRatio("authorize allowed by a rule, against asked without rules", allowed.perSecond / none.perSecond);
  printResult("memory added by the first rules", added, "MB", "less is better");
}
