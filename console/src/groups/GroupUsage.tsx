/** What an instance uses of each entitlement of a group. */
import { useState } from "react"
import { approximate, difference, formatAmount } from "../kernel/Amount.ts"
import type { Answer } from "../kernel/Contract.ts"
import { formatRestart } from "../kernel/Formats.ts"
import { useRead } from "../kernel/Queries.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { Empty, Read } from "../widgets/States.tsx"
import { t } from "./texts.en.ts"

const LIVE_MS = 15_000

type Entry = Answer<"GET /api/entitlement-groups/:entitlementGroupSlug/usage">[number]

const isMeasured = ({ entitlementType }: Entry) => entitlementType === "NUMBER"

const Left = ({ entry }: { readonly entry: Entry }) => {
  if (!isMeasured(entry) || entry.licenseValue.type === "unlimited") return null
  const left = difference(entry.licenseValue.value, entry.usageValue.value)
  return approximate(left) < 0 ? <span className="danger-text">{formatAmount(left)}</span> : <>{formatAmount(left)}</>
}

const columns: ReadonlyArray<Column<Entry>> = [
  {
    id: "entitlement",
    title: t.entitlement,
    width: "2fr",
    cell: ({ entitlementName, entitlementSlug }) => (
      <>
        <RecordLink kind="entitlement" slug={entitlementSlug}>
          {entitlementName}
        </RecordLink>
        <span className="sub">{entitlementSlug}</span>
      </>
    ),
  },
  {
    id: "used",
    title: t.used,
    width: "1fr",
    isNumber: true,
    cell: (entry) => (isMeasured(entry) ? formatAmount(entry.usageValue.value) : t.notMeasured),
  },
  {
    id: "granted",
    title: t.granted,
    width: "1fr",
    isNumber: true,
    cell: (entry) =>
      isMeasured(entry)
        ? entry.licenseValue.type === "unlimited"
          ? t.unlimited
          : formatAmount(entry.licenseValue.value)
        : null,
  },
  { id: "left", title: t.left, width: "1fr", isNumber: true, cell: (entry) => <Left entry={entry} /> },
  {
    id: "restarts",
    title: t.restarts,
    width: "1.4fr",
    cell: (entry) =>
      isMeasured(entry)
        ? entry.currentPeriodEnd === null
          ? t.neverRestarts
          : formatRestart(entry.currentPeriodEnd)
        : null,
  },
]

export const GroupUsage = ({ slug }: { readonly slug: string }) => {
  const [{ instance = "" }, setUrl] = useUrl()
  const [text, setText] = useState(instance)
  const choose = (chosen: string) => setUrl({ instance: chosen.trim() })
  const usage = useRead(
    "GET /api/entitlement-groups/:entitlementGroupSlug/usage",
    { params: { entitlementGroupSlug: slug }, query: { instance } },
    { when: instance !== "", refetchInterval: LIVE_MS },
  )
  return (
    <>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          choose(text)
        }}
      >
        <RecordField kind="instance" label={t.instance} value={text} onChange={setText} onChoose={choose} />
        <Button type="submit">{t.show}</Button>
      </form>
      {instance === "" ? (
        <Empty title={t.chooseInstance}>{t.chooseInstanceDetail}</Empty>
      ) : (
        <Read of={usage}>
          {(entries) => (
            <DataTable
              label={t.usageOf(instance)}
              columns={columns}
              rows={complete(entries)}
              rowKey={({ entitlementId }) => entitlementId}
              empty={<Empty title={t.noEntitlements}>{t.noEntitlementsDetail}</Empty>}
            />
          )}
        </Read>
      )}
    </>
  )
}
