/** An approval link that this instance never issued, or an incomplete one. */

export default function ApprovalNotFound() {
  return (
    <section className="mx-auto max-w-2xl px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Approval link not found</h1>
      <p className="mt-4 text-lg text-muted">
        Email and chat apps sometimes cut off long links. Copy the whole link again, or ask whoever runs the
        agent to resend it.
      </p>
      <p className="mt-4 text-muted">Opening this page didn't approve or deny anything.</p>
    </section>
  );
}
