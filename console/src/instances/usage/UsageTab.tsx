/** What is used, what is left, when it starts again, and why. */
import { useState } from "react"
import { approximate, difference, formatAmount } from "../../kernel/Amount.ts"
import type { Instance } from "../../kernel/Contract.ts"
import { formatBoundary, formatRestart } from "../../kernel/Formats.ts"
import { Button } from "../../widgets/Button.tsx"
import { complete, DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { Meter } from "../../widgets/Meter.tsx"
import { Empty } from "../../widgets/States.tsx"
import { Tag } from "../../widgets/Tag.tsx"
import { UsageHistory } from "./UsageHistory.tsx"
import type { UsageLine } from "./Usage.ts"
import { t } from "../texts.en.ts"

const isNumber = ({ usage }: UsageLine) => usage.entitlementType === "NUMBER"

/** Reasons why every check of an instance is denied, whatever is granted. */
const OUTSIDE_TERM: ReadonlyArray<string | undefined> = ["LICENSE_EXPIRED", "LICENSE_NOT_STARTED"]

const isOutsideTerm = ({ check }: UsageLine) => OUTSIDE_TERM.includes(check?.reason)

/** Says that nothing of the table can be used now. */
const TermNotice = ({ instance, lines }: { readonly instance: Instance; readonly lines: ReadonlyArray<UsageLine> }) => {
  const { endLicenseDate, startLicenseDate } = instance
  if (!lines.some(isOutsideTerm)) return null
  const hasBegun = Date.parse(startLicenseDate) <= Date.now()
  return (
    <p className="notice danger" role="status">
      {hasBegun && endLicenseDate !== null
        ? t.usage.ended(formatBoundary(endLicenseDate))
        : t.usage.notStarted(formatBoundary(startLicenseDate))}
    </p>
  )
}

const Granted = ({ line }: { readonly line: UsageLine }) => {
  const { check, usage } = line
  const granted = isOutsideTerm(line) ? "neutral" : "ok"
  if (usage.entitlementType === "CONFIG") return <Tag tone={granted}>{t.usage.configured}</Tag>
  const isGranted = check === undefined ? usage.licenseValue.value !== 0 : check.reason !== "NOT_GRANTED"
  return <Tag tone={isGranted ? granted : "muted"}>{isGranted ? t.usage.granted : t.usage.notGranted}</Tag>
}

const Used = ({ line }: { readonly line: UsageLine }) => {
  const { check, usage } = line
  if (!isNumber(line)) return <Granted line={line} />
  const used = usage.usageValue.value
  if (usage.licenseValue.type === "unlimited") {
    return <>{t.usage.of(formatAmount(used), t.usage.unlimited.toLowerCase())}</>
  }
  const limit = usage.licenseValue.value
  const rule = check?.explanation?.overageRule
  const cap = rule?.kind === "SOFT" ? rule.cap : undefined
  return (
    <span className="usage-bar">
      <span>{t.usage.of(formatAmount(used), formatAmount(limit))}</span>
      <Meter label={usage.entitlementName} used={used} limit={limit} cap={cap} />
      <span className="sub">{cap === undefined ? t.usage.hard : t.usage.soft(formatAmount(cap))}</span>
    </span>
  )
}

const Left = ({ line }: { readonly line: UsageLine }) => {
  const { check, usage } = line
  if (!isNumber(line) || usage.licenseValue.type === "unlimited") return null
  const over = check?.overage ?? 0
  const left = check?.remaining ?? difference(usage.licenseValue.value, usage.usageValue.value)
  const held = check?.explanation?.held ?? 0
  return (
    <>
      {approximate(over) > 0 ? (
        <span className="danger-text">{t.usage.over(formatAmount(over))}</span>
      ) : (
        <span className={isOutsideTerm(line) ? "muted" : undefined}>{formatAmount(left)}</span>
      )}
      {approximate(held) > 0 && <span className="sub">{t.usage.held(formatAmount(held))}</span>}
    </>
  )
}

const columnsFor = (why: (slug: string) => void, show: (slug: string) => void): ReadonlyArray<Column<UsageLine>> => [
  {
    id: "entitlement",
    title: t.usage.entitlement,
    width: "1.6fr",
    cell: (line) => {
      const { check, usage } = line
      const by = check?.explanation?.grant?.source === "OVERRIDE" ? check.explanation.grant.by?.name : undefined
      return (
        <>
          {isNumber(line) ? (
            <Button look="quiet" onPress={() => show(usage.entitlementSlug)}>
              {usage.entitlementName}
            </Button>
          ) : (
            usage.entitlementName
          )}
          {by !== undefined && <span className="sub">{t.usage.override(by)}</span>}
        </>
      )
    },
  },
  { id: "used", title: t.usage.used, width: "3fr", cell: (line) => <Used line={line} /> },
  { id: "left", title: t.usage.left, width: "1fr", isNumber: true, cell: (line) => <Left line={line} /> },
  {
    id: "restarts",
    title: t.usage.restarts,
    width: "1.4fr",
    cell: (line) =>
      isNumber(line)
        ? line.usage.currentPeriodEnd === null
          ? t.usage.neverRestarts
          : formatRestart(line.usage.currentPeriodEnd)
        : null,
  },
  {
    id: "why",
    title: t.usage.why,
    width: "64px",
    isUntitled: true,
    cell: ({ usage }) => (
      <Button look="quiet" onPress={() => why(usage.entitlementSlug)}>
        <span className="visually-hidden">{t.usage.whyOf(usage.entitlementName)}</span>
        <span aria-hidden>{t.usage.why}</span>
      </Button>
    ),
  },
]

export const UsageTab = ({
  instance,
  lines,
  onWhy,
}: {
  readonly instance: Instance
  readonly lines: ReadonlyArray<UsageLine>
  readonly onWhy: (entitlementSlug: string) => void
}) => {
  const numbers = lines.filter(isNumber)
  const [shown, setShown] = useState<string>()
  const chosen = numbers.find(({ usage }) => usage.entitlementSlug === shown) ?? numbers[0]
  return (
    <>
      <TermNotice instance={instance} lines={lines} />
      <DataTable
        label={t.tabs.usage}
        unit="entitlement"
        columns={columnsFor(onWhy, setShown)}
        rows={complete(lines)}
        rowKey={({ usage }) => usage.entitlementId}
        empty={<Empty title={t.usage.empty}>{t.usage.emptyDetail}</Empty>}
      />
      {chosen !== undefined && (
        <UsageHistory
          instanceSlug={instance.slug}
          line={chosen}
          choices={numbers.map(({ usage }) => ({ id: usage.entitlementSlug, title: usage.entitlementName }))}
          onChoose={setShown}
        />
      )}
    </>
  )
}
