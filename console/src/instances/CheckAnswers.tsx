/** The answers of a check: the service's sentence first, then the facts that it decided on. */
import { CircleCheck, CircleX } from "lucide-react"
import type { ReactNode } from "react"
import { approximate, formatAmount } from "../kernel/Amount.ts"
import type { CheckAnswer, CheckResult } from "../kernel/Contract.ts"
import { formatBoundary, formatMoment, words } from "../kernel/Formats.ts"
import { Facts } from "../widgets/Page.tsx"
import { Code } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Explanation = NonNullable<CheckAnswer["explanation"]>

const valueText = (value: NonNullable<Explanation["grant"]>["value"]): string =>
  typeof value === "object"
    ? JSON.stringify(value)
    : typeof value === "boolean"
      ? String(value)
      : approximate(value) === -1
        ? t.usage.unlimited
        : formatAmount(value)

const Grant = ({ grant }: { readonly grant: NonNullable<Explanation["grant"]> }) => (
  <>
    {valueText(grant.value)} ({words(grant.source)})
    {grant.by !== undefined && grant.at !== undefined && (
      <span className="sub">{t.checks.by(grant.by.name, formatMoment(grant.at))}</span>
    )}
    {grant.reason !== undefined && grant.reason !== null && <span className="sub">{grant.reason}</span>}
  </>
)

const factsOf = (explanation: Explanation, answer: CheckAnswer): ReadonlyArray<readonly [string, ReactNode]> => {
  const { grant, held, license, overageRule, window } = explanation
  return [
    [
      t.checks.license,
      <span key="license">
        <Code>{license.slug}</Code>
        <span className="sub">
          {formatBoundary(license.startLicenseDate)} -{" "}
          {license.endLicenseDate === null ? t.openEnded : formatBoundary(license.endLicenseDate)}
        </span>
      </span>,
    ],
    [t.checks.grant, grant === null ? t.usage.notGranted : <Grant key="grant" grant={grant} />],
    [
      t.checks.cap,
      overageRule === null || overageRule.kind === "UNLIMITED"
        ? null
        : `${formatAmount(overageRule.cap)}, ${words(overageRule.kind).toLowerCase()}`,
    ],
    [
      t.checks.window,
      window === null
        ? null
        : `${formatBoundary(window.start)} - ${window.end === null ? t.openEnded : formatBoundary(window.end)}`,
    ],
    [t.checks.held, held === null ? null : formatAmount(held)],
    [t.checks.used, answer.usage === null ? null : formatAmount(answer.usage)],
  ]
}

const Answer = ({ answer }: { readonly answer: CheckAnswer }) => (
  <section className={answer.allowed ? "check-answer ok" : "check-answer refused"}>
    <h3 className="inline">
      {answer.allowed ? <CircleCheck aria-hidden size={16} /> : <CircleX aria-hidden size={16} />}
      {answer.allowed ? t.checks.allowed : t.checks.refused}: {words(answer.reason)} <Code>{answer.entitlement}</Code>
    </h3>
    {answer.explanation !== undefined && (
      <>
        <p>{answer.explanation.text}</p>
        <Facts items={factsOf(answer.explanation, answer)} />
      </>
    )}
  </section>
)

export const CheckAnswers = ({
  isOld,
  result,
}: {
  readonly result: CheckResult
  /** The fields ask something else by now. */
  readonly isOld: boolean
}) => (
  <div className={isOld ? "stack old" : "stack"}>
    {isOld && <p role="status">{t.checks.old}</p>}
    <p className="muted">
      {formatMoment(result.at)}
      {result.graceEndsAt !== null && ` - ${t.checks.graceEnds(formatBoundary(result.graceEndsAt))}`}
    </p>
    {result.checks.map((answer) => (
      <Answer key={answer.entitlement} answer={answer} />
    ))}
  </div>
)
