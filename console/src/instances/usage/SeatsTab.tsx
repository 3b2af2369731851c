/** Who holds the seats, and freeing one. */
import { useState } from "react"
import type { Lease } from "../../kernel/Contract.ts"
import { useRead, useRows, useWrite } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { Button } from "../../widgets/Button.tsx"
import { DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { SelectField } from "../../widgets/forms/Fields.tsx"
import type { Choice } from "../../widgets/forms/Fields.tsx"
import { ConfirmDialog } from "../../widgets/forms/Form.tsx"
import { Empty } from "../../widgets/States.tsx"
import { Moment } from "../../widgets/Tag.tsx"
import type { UsageLine } from "../usage/Usage.ts"
import { t } from "../texts.en.ts"

const EndDialog = ({ lease, onClose }: { readonly lease: Lease; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/instances/:instanceSlug/entitlements/:entitlementSlug/leases/:leaseId", {
    stale: ["/api/instances"],
    done: onClose,
  })
  const { entitlement, id, instance } = lease
  return (
    <ConfirmDialog
      title={t.seats.endTitle(lease.holder)}
      submit={t.seats.end}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { instanceSlug: instance, entitlementSlug: entitlement, leaseId: id } })}
    >
      <p>{t.seats.endText}</p>
    </ConfirmDialog>
  )
}

const Seats = ({
  entitlementSlug,
  instanceSlug,
}: {
  readonly instanceSlug: string
  readonly entitlementSlug: string
}) => {
  const mayWrite = useCan("write:instances")
  const [ending, setEnding] = useState<Lease>()
  const rows = useRows(
    "GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/leases",
    { params: { instanceSlug, entitlementSlug } },
    { refetchInterval: 15_000 },
  )
  const columns: ReadonlyArray<Column<Lease>> = [
    { id: "holder", title: t.seats.holder, width: "2fr", cell: ({ holder }) => holder },
    { id: "since", title: t.seats.acquired, width: "1.2fr", cell: ({ acquiredAt }) => <Moment at={acquiredAt} /> },
    { id: "until", title: t.seats.until, width: "1.2fr", cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
    {
      id: "end",
      title: t.seats.end,
      width: "64px",
      isUntitled: true,
      cell: (lease) =>
        mayWrite ? (
          <Button look="quiet" onPress={() => setEnding(lease)}>
            {t.seats.end}
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <DataTable
        label={t.tabs.seats}
        unit="seat"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.seats.empty}>{t.seats.emptyDetail}</Empty>}
      />
      {ending !== undefined && <EndDialog lease={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}

/** The entitlements that are counted in seats. Without the scope to read their definitions, any number may be one. */
const useSeatChoices = (lines: ReadonlyArray<UsageLine>): ReadonlyArray<Choice> | undefined => {
  const mayRead = useCan("read:entitlements")
  const definitions = useRead("GET /api/entitlements", { query: { type: "NUMBER", limit: "200" } }, { when: mayRead })
  if (mayRead && definitions.data === undefined && definitions.error === null) return undefined
  const seats = new Set(
    definitions.data?.items
      .filter(({ aggregationMethod }) => aggregationMethod === "CONCURRENT")
      .map(({ slug }) => slug),
  )
  return lines
    .filter(
      ({ usage }) =>
        usage.entitlementType === "NUMBER" && (definitions.data === undefined || seats.has(usage.entitlementSlug)),
    )
    .map(({ usage }) => ({ id: usage.entitlementSlug, title: usage.entitlementName }))
}

export const SeatsTab = ({
  instanceSlug,
  lines,
}: {
  readonly instanceSlug: string
  readonly lines: ReadonlyArray<UsageLine>
}) => {
  const choices = useSeatChoices(lines)
  const [shown, setShown] = useState<string>()
  if (choices === undefined) return null
  const chosen = choices.find(({ id }) => id === shown) ?? choices[0]
  if (chosen === undefined) return <Empty title={t.seats.none}>{t.seats.emptyDetail}</Empty>
  return (
    <>
      {choices.length > 1 && (
        <div className="tab-tools">
          <SelectField isInline label={t.seats.entitlement} choices={choices} value={chosen.id} onChange={setShown} />
        </div>
      )}
      <Seats key={chosen.id} instanceSlug={instanceSlug} entitlementSlug={chosen.id} />
    </>
  )
}
