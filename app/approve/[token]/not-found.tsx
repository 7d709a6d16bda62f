/** An approval link that this instance never made, or a part of one. */

export default function ApprovalNotFound() {
  return (
    <section className="mx-auto max-w-2xl px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">This approval link is not known</h1>
      <p className="mt-4 text-lg text-muted">
        Mail and chat programs sometimes cut long links. Copy the whole link from where you got it, or ask
        whoever runs the agent for it again.
      </p>
      <p className="mt-4 text-muted">Nothing was approved or denied by opening this page.</p>
    </section>
  );
}
