/** The instances whose license ends soon, and those that still have access after its end. */
import { useEffect } from "react"
import type { Instance } from "../kernel/Contract.ts"
import { daysUntil, formatBoundary, HOUR_MS, plusDays, thisHour } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Section } from "../widgets/Page.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const SOON_DAYS = 30
/** The longest grace that the service allows. */
const LONGEST_GRACE_DAYS = 365

const columnsWith = (last: Column<Instance>): ReadonlyArray<Column<Instance>> => [
  {
    id: "name",
    title: t.instance,
    width: "2fr",
    cell: ({ name, slug }) => (
      <RecordLink kind="instance" slug={slug}>
        {name}
      </RecordLink>
    ),
  },
  {
    id: "customer",
    title: t.customer,
    width: "1.5fr",
    cell: ({ customerSlug }) => <RecordLink kind="customer" slug={customerSlug} />,
  },
  {
    id: "license",
    title: t.license,
    width: "1.2fr",
    cell: ({ licenseSlug }) => <RecordLink kind="license" slug={licenseSlug} />,
  },
  last,
]

const byEnd = (a: Instance, b: Instance) => Date.parse(a.endLicenseDate ?? "") - Date.parse(b.endLicenseDate ?? "")

const endingColumns = columnsWith({
  id: "ends",
  title: t.ends,
  width: "1.6fr",
  cell: ({ endLicenseDate }) =>
    endLicenseDate === null ? null : (
      <>
        <Tag tone="warn">{t.left(daysUntil(endLicenseDate))}</Tag>
        <span className="sub">{formatBoundary(endLicenseDate)}</span>
      </>
    ),
})

export const Ending = () => {
  const now = thisHour()
  const rows = useRows("GET /api/instances", { query: { endsAfter: now, endsBefore: plusDays(now, SOON_DAYS) } })
  const all = { ...rows, rows: rows.rows?.toSorted(byEnd) }
  return (
    <Section title={t.ending}>
      <DataTable
        label={t.ending}
        columns={endingColumns}
        rows={all}
        rowKey={({ id }) => id}
        empty={<p className="muted">{t.noEnding}</p>}
      />
    </Section>
  )
}

/** Reads all pages: an instance in grace can be on any of them. */
const useAll = (rows: {
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly error: Error | null
  readonly loadMore: () => void
}) => {
  const { error, hasMore, isLoadingMore, loadMore } = rows
  useEffect(() => {
    if (hasMore && !isLoadingMore && error === null) loadMore()
  }, [error, hasMore, isLoadingMore, loadMore])
}

export const InGrace = () => {
  const now = thisHour()
  const readsLicenses = useCan("read:licenses")
  const ended = useRows("GET /api/instances", {
    query: {
      endsBefore: new Date(Date.parse(now) + HOUR_MS).toISOString(),
      endsAfter: plusDays(now, -LONGEST_GRACE_DAYS),
    },
  })
  const licenses = useRows("GET /api/licenses", {}, { when: readsLicenses })
  useAll(ended)
  useAll(licenses)
  const daysOf = new Map(licenses.rows?.map(({ graceDays, id }) => [id, graceDays]))
  /** Its own days of grace, or those of its license, as the service decides. */
  const graceEndOf = ({ endLicenseDate, graceDays, licenseId }: Instance): string | undefined => {
    const days = graceDays ?? daysOf.get(licenseId) ?? 0
    if (endLicenseDate === null || days === 0 || Date.parse(endLicenseDate) > Date.now()) return undefined
    const end = plusDays(endLicenseDate, days)
    return Date.parse(end) > Date.now() ? end : undefined
  }
  const columns = columnsWith({
    id: "until",
    title: t.until,
    width: "1.6fr",
    cell: (instance) => {
      const end = graceEndOf(instance)
      return end === undefined ? null : (
        <>
          <Tag tone="danger">{t.left(daysUntil(end))}</Tag>
          <span className="sub">{formatBoundary(end)}</span>
        </>
      )
    },
  })
  const isWaiting = ended.rows === undefined || (readsLicenses && licenses.rows === undefined) || ended.hasMore
  const inGrace = ended.rows?.filter((instance) => graceEndOf(instance) !== undefined) ?? []
  const error = ended.error ?? licenses.error
  return (
    <Section title={t.grace}>
      {!readsLicenses && <p className="muted">{t.ownGrace}</p>}
      <DataTable
        label={t.grace}
        columns={columns}
        rows={
          error !== null || isWaiting
            ? { ...ended, rows: undefined, error, retry: () => [ended, licenses].forEach(({ retry }) => retry()) }
            : complete(inGrace.toSorted(byEnd))
        }
        rowKey={({ id }) => id}
        empty={<p className="muted">{t.noGrace}</p>}
      />
    </Section>
  )
}
