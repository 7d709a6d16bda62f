/** The mark: one tick signed beside another. */
export function Wordmark() {
  return (
    <span className="inline-flex items-center gap-2 font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false" className="size-6">
        <rect width="32" height="32" rx="7" fill="var(--accent-fill)" />
        <path
          d="M7 17.5l4.5 4.5L20 11"
          fill="none"
          stroke="#fff"
          strokeWidth="2.6"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
        <path
          d="M15.5 20.2l1.8 1.8L26 11"
          fill="none"
          stroke="#b7cdff"
          strokeWidth="2.6"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      Countersign
    </span>
  );
}
