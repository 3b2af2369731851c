/** Usage over time as a chart or a table of its buckets, and the single reports. */
import { useMemo, useState } from "react"
import { approximate, formatAmount, LOCALE } from "../../kernel/Amount.ts"
import type { UsageBucket, UsageEvent } from "../../kernel/Contract.ts"
import { formatMoment, plusDays } from "../../kernel/Formats.ts"
import { useRead, useRows, useWrite } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { Button } from "../../widgets/Button.tsx"
import { Chart } from "../../widgets/Chart.tsx"
import { DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { Segments, SelectField } from "../../widgets/forms/Fields.tsx"
import type { Choice } from "../../widgets/forms/Fields.tsx"
import { ConfirmDialog } from "../../widgets/forms/Form.tsx"
import { Section } from "../../widgets/Page.tsx"
import { Empty, Read } from "../../widgets/States.tsx"
import { Moment, Tag } from "../../widgets/Tag.tsx"
import type { UsageLine } from "./Usage.ts"
import { t } from "../texts.en.ts"

type Bucket = "HOUR" | "DAY" | "MONTH"

const DAYS: Readonly<Record<Bucket, number>> = { HOUR: 7, DAY: 60, MONTH: 365 }
const buckets: ReadonlyArray<Bucket> = ["HOUR", "DAY", "MONTH"]
const names: Readonly<Record<Bucket, string>> = { HOUR: t.history.hour, DAY: t.history.day, MONTH: t.history.month }

const hour = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" })
const month = new Intl.DateTimeFormat(LOCALE, { month: "long", year: "numeric", timeZone: "UTC" })
const formats = { HOUR: hour, DAY: day, MONTH: month }

const BucketTable = ({ bucket, items }: { readonly bucket: Bucket; readonly items: ReadonlyArray<UsageBucket> }) => (
  <div className="scroll" tabIndex={0} role="region" aria-label={t.history.table}>
    <table className="plain">
      <thead>
        <tr>
          <th scope="col">{t.history.from}</th>
          <th scope="col" className="number">
            {t.history.value}
          </th>
          <th scope="col" className="number">
            {t.history.events}
          </th>
        </tr>
      </thead>
      <tbody>
        {items.toReversed().map(({ event_count: count, start, value }) => (
          <tr key={start}>
            <th scope="row">{formats[bucket].format(new Date(start))}</th>
            <td className="number">{formatAmount(value)}</td>
            <td className="number">{formatAmount(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const VoidDialog = ({
  event,
  onClose,
  params,
}: {
  readonly event: UsageEvent
  readonly params: { readonly instanceSlug: string; readonly entitlementSlug: string }
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/instances/:instanceSlug/entitlements/:entitlementSlug/usage/events/:eventId", {
    stale: ["/api/instances"],
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.history.voidTitle}
      submit={t.history.void}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { ...params, eventId: event.id } })}
    >
      <p>{t.history.voidText(formatAmount(event.value), formatMoment(event.timestamp))}</p>
    </ConfirmDialog>
  )
}

const Reports = ({
  params,
}: {
  readonly params: { readonly instanceSlug: string; readonly entitlementSlug: string }
}) => {
  const rows = useRows(
    "GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/usage/events",
    { params },
    { pageSize: "50" },
  )
  const [voiding, setVoiding] = useState<UsageEvent>()
  const mayVoid = useCan("write:licenses")
  const columns: ReadonlyArray<Column<UsageEvent>> = [
    { id: "at", title: t.usage.used, width: "1.2fr", cell: ({ timestamp }) => <Moment at={timestamp} /> },
    { id: "value", title: t.history.value, width: "1fr", isNumber: true, cell: ({ value }) => formatAmount(value) },
    { id: "by", title: t.history.by, width: "1.5fr", cell: ({ reportedBy }) => reportedBy.name },
    {
      id: "void",
      title: t.history.void,
      width: "1fr",
      isUntitled: true,
      cell: (event) =>
        event.voidedAt !== null ? (
          <Tag tone="muted">{t.history.voided}</Tag>
        ) : mayVoid ? (
          <Button look="quiet" onPress={() => setVoiding(event)}>
            {t.history.void}
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <DataTable
        label={t.history.showEvents}
        unit="report"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.history.noEvents} />}
      />
      {voiding !== undefined && <VoidDialog event={voiding} params={params} onClose={() => setVoiding(undefined)} />}
    </>
  )
}

export const UsageHistory = ({
  choices,
  instanceSlug,
  line,
  onChoose,
}: {
  readonly instanceSlug: string
  readonly line: UsageLine
  readonly choices: ReadonlyArray<Choice>
  readonly onChoose: (entitlementSlug: string) => void
}) => {
  const [bucket, setBucket] = useState<Bucket>("DAY")
  const [view, setView] = useState("chart")
  const { entitlementName, entitlementSlug, licenseValue } = line.usage
  const period = line.check?.explanation?.window?.resetPeriod
  // A limit of a month says nothing about a day.
  const isComparable = licenseValue.type === "number" && (period === null || period === bucket)
  const params = { instanceSlug, entitlementSlug }
  // To the hour, so that drawing the page again asks for the same.
  const to = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000).toISOString()
  const history = useRead(
    "GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/usage/history",
    { params, query: { bucket, from: plusDays(to, -DAYS[bucket]), to } },
    { when: view !== "reports" },
  )
  const items = history.data?.items
  const points = useMemo(
    () => items?.map(({ start, value }) => ({ at: Date.parse(start) / 1000, value: approximate(value) })) ?? [],
    [items],
  )
  return (
    <Section
      title={t.history.title(entitlementName)}
      actions={
        <>
          {choices.length > 1 && (
            <SelectField
              isInline
              label={t.history.entitlement}
              choices={choices}
              value={entitlementSlug}
              onChange={onChoose}
            />
          )}
          {view !== "reports" && (
            <Segments
              label={t.history.bucket}
              value={bucket}
              onChange={(id) => setBucket(buckets.find((one) => one === id) ?? "DAY")}
              choices={buckets.map((id) => ({ id, title: names[id] }))}
            />
          )}
          <Segments
            label={t.history.view}
            value={view}
            onChange={setView}
            choices={[
              { id: "chart", title: t.history.chart },
              { id: "table", title: t.history.table },
              { id: "reports", title: t.history.showEvents },
            ]}
          />
        </>
      }
    >
      {view === "reports" ? (
        <Reports params={params} />
      ) : (
        <Read of={history}>
          {({ items: found }) =>
            view === "table" ? (
              <BucketTable bucket={bucket} items={found} />
            ) : (
              <>
                <Chart
                  label={entitlementName}
                  points={points}
                  limit={isComparable ? approximate(licenseValue.value) : undefined}
                />
                <div className="visually-hidden">
                  <BucketTable bucket={bucket} items={found} />
                </div>
              </>
            )
          }
        </Read>
      )}
    </Section>
  )
}
