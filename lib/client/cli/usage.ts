/** Output of `countersign --help`. */
export const usage = `usage: countersign attest <agent> <action> (--inputs FILE | --inputs-hash HASH) [options]
       countersign attest --ndjson [<file>] [--all-or-nothing] [options]
       countersign authorize <agent> <action> [--wait] [options]
       countersign claim <request id> [--run NAME] | cancel <request id> | revoke <request id> [--reason TEXT]
       countersign freeze <agent> --reason TEXT | unfreeze <agent> [--reason TEXT]
       countersign verify <id | url | file | -> [options]      see: countersign verify --help
       countersign hook --agent <agent> [--match PATTERN]... [--dialect NAME] [options]
       countersign hook install --agent <agent> --key-file FILE [hook options] [--yes]
       countersign keys request <email> [--name TEXT] | verify <email> <code> | info | delete
       countersign agent show <agent> | register <agent> [options] | tools <agent> <tool>...
       countersign webhooks listen [--event NAME]... [--count N]

Records what an agent did, asks humans for approval, and verifies both. Needs only Node 20 or newer.

Environment
  COUNTERSIGN_URL       the service, for example https://countersign.example
  COUNTERSIGN_API_KEY   an API key; not needed for verify, agent show, keys request and keys verify

For every command
  --url URL             the service, instead of COUNTERSIGN_URL
  --json                print the service's answer as JSON; everything else goes to standard error. authorize --wait
                        prints one line for the request and one for its end, whatever the end is
  --                    treat everything after it as words, not options

attest, authorize
  --inputs FILE         JSON that the action acts on ("-" for standard input); its hash is sent, not the content
  --inputs-hash HASH    the hash itself
  --idempotency-key K   with the same key it is done once, however often it is run

attest
  --metadata FILE       a JSON object for the record
  --public, --private   who may read it (default: your organization's setting)
  --zk                  also create a zero-knowledge proof
  --code-hash HASH, --model-id ID, --tool NAME   what ran; --tool can be repeated
  --authorization FILE  a human_authorization, as authorize --output saves it
  --agent-key FILE      sign as the agent with this PEM Ed25519 private key
  --ndjson              record many: each line of the file (default: standard input) is a request as POST /v1/attest
                        takes it; prints a line for each, {"status", "body"}; exit code 1 if one was refused,
                        or if only some were answered; then it says how to go on
  --all-or-nothing      with --ndjson, at most 100 lines: if one is refused, none is recorded

authorize
  --context NAME=VALUE  shown to the human; can be repeated
  --expires-in MINUTES  1-1440, default 30
  --tool NAME           the tool that would run
  --amount "N CODE"     what it costs, for example "100.50 EUR"; shown first
  --level LEVEL         device (default) or orb, of World ID; none only with --required-approvers
  --approvals N         distinct humans, 1-10, default 1
  --required-approvers GROUP=N   only N enrolled members of this group decide, by passkey; can be repeated
  --usable-for SECONDS  how long the approval can be used once it is given
  --approver NAME       an approver or group of your organization who gets the link by email; can be repeated
  --requester TEXT      who or what in your organization asks, in your own words
  --require-code        the page asks for the confirmation code before a decision
  --wait                wait for the decision
  --output FILE         with --wait: save the human_authorization of an approval

claim                   right before the action, so that of several runs one runs it
  --run NAME            your name for this run, to repeat a claim whose answer was lost (default: a random one)

revoke, freeze, unfreeze
  --reason TEXT         for your organization; only a salted hash of it becomes public

hook                    for the settings of a coding agent; see /docs/hook
  --match PATTERN       Tool or Tool(text*), "*" is any text; can be repeated; without it, every tool
  --dialect NAME        claude (default), codex, copilot or gemini
  --timeout SECONDS     how long to wait for the human, default 570: less than the agent's own time limit
  --defer               if nobody decided in time, defer the call instead of denying it (claude -p, Agent SDK)
  --key-file FILE       the API key, instead of COUNTERSIGN_API_KEY
  --output FOLDER       one file with link and code for each waiting call, which only you can read
  --context, --expires-in, --level, --approvals, --approver, --requester, --required-approvers, --usable-for
                        as for authorize
  --public, --private, --agent-key, --code-hash, --model-id   as for attest

hook install            copies this program and writes the hook into the agent's settings
  --system              for every user of this machine, who then can't change it; needs root
  --to FOLDER           where the program goes: outside of every project (default ~/.countersign)
  --settings FILE       the agent's settings, if they are not at the usual place
  --run-as USER         run the hook as USER by sudo, so that the agent's user can't read the key
  --yes                 write; without it, only show what would change
  --check               prove with blocked calls that the installed hook is live, and list other hooks

agent register
  --name TEXT, --description TEXT, --code-hash HASH, --model-id ID, --tool NAME
  --agent-key FILE      register this private key's public half, with proof that you hold it
  --public-key FILE     register this PEM public key

webhooks listen         prints the messages of a service on this machine until you press Ctrl+C
  --event NAME          for example authorization.approved; can be repeated (default: all)
  --count N             stop after N messages

Exit codes (verify has its own: countersign verify --help)
  0  done; with authorize --wait: approved
  1  the service refused the request; claim: don't run the action
  2  wrong usage, or unreadable input; hook: whatever went wrong, so that the agent doesn't run the tool
  5  authorize --wait: denied or cancelled. Stop and report
  6  authorize --wait: expired. Nobody decided in time
  7  the service could not be reached, is busy, or failed; what is safe to repeat was repeated
`;
