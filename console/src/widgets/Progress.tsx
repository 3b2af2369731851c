/** How far something is: a bar. The numbers beside it say the same. */
export const Progress = ({
  done,
  label,
  total,
}: {
  readonly label: string
  readonly done: number
  readonly total: number
}) => (
  <span
    className="meter"
    role="progressbar"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={total}
    aria-valuenow={Math.min(done, total)}
  >
    <span className="meter-fill" style={{ inlineSize: `${total === 0 ? 0 : Math.min(100, (done / total) * 100)}%` }} />
  </span>
)
