/** What products may spend without a request, and ending what a lost one holds. */
import { useState } from "react"
import type { Tranche } from "../../kernel/Contract.ts"
import { useRows, useWrite } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { Button } from "../../widgets/Button.tsx"
import { DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { ConfirmDialog } from "../../widgets/forms/Form.tsx"
import { RecordLink } from "../../widgets/records/Links.tsx"
import { Empty } from "../../widgets/States.tsx"
import { Code, Moment } from "../../widgets/Tag.tsx"
import { t } from "../texts.en.ts"

const LEDGER = "urn:keyshelf:ledger:"

/** The holder without what all holders begin with. */
const shortName = ({ holder }: Tranche): string => (holder.startsWith(LEDGER) ? holder.slice(LEDGER.length) : holder)

const EndDialog = ({
  instanceSlug,
  onClose,
  tranche,
}: {
  readonly instanceSlug: string
  readonly tranche: Tranche
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/instances/:instanceSlug/tranches/:holder", {
    stale: ["/api/instances"],
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.tranches.endTitle}
      submit={t.tranches.end}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { instanceSlug, holder: tranche.holder } })}
    >
      <p>{t.tranches.endText(shortName(tranche))}</p>
    </ConfirmDialog>
  )
}

/** Whether a holder can spend no units any longer: one that can would go on, above the limit. */
const isEnded = ({ spendUntil }: Tranche): boolean => Date.parse(spendUntil) <= Date.now()

export const TranchesTab = ({ instanceSlug }: { readonly instanceSlug: string }) => {
  const mayEnd = useCan("write:licenses")
  const [ending, setEnding] = useState<Tranche>()
  const rows = useRows(
    "GET /api/instances/:instanceSlug/tranches",
    { params: { instanceSlug } },
    { refetchInterval: 15_000 },
  )
  const columns: ReadonlyArray<Column<Tranche>> = [
    { id: "holder", title: t.tranches.holder, width: "2fr", cell: (tranche) => <Code>{shortName(tranche)}</Code> },
    {
      id: "entitlement",
      title: t.tranches.entitlement,
      width: "1fr",
      cell: ({ entitlement }) => <RecordLink kind="entitlement" slug={entitlement} />,
    },
    {
      id: "period",
      title: t.tranches.period,
      width: "1fr",
      cell: ({ periodStart }) => <Moment at={periodStart} />,
    },
    { id: "unspent", title: t.tranches.unspent, width: "80px", cell: ({ unspent }) => unspent },
    { id: "until", title: t.tranches.until, width: "1fr", cell: ({ spendUntil }) => <Moment at={spendUntil} /> },
    { id: "refilled", title: t.tranches.refilled, width: "1fr", cell: ({ updatedAt }) => <Moment at={updatedAt} /> },
    {
      id: "end",
      title: t.tranches.end,
      width: "64px",
      isUntitled: true,
      cell: (tranche) =>
        mayEnd && isEnded(tranche) ? (
          <Button look="quiet" onPress={() => setEnding(tranche)}>
            {t.tranches.end}
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <DataTable
        label={t.tabs.tranches}
        columns={columns}
        rows={rows}
        rowKey={({ entitlement, holder, periodStart }) => `${holder} ${entitlement} ${periodStart}`}
        empty={<Empty title={t.tranches.empty}>{t.tranches.emptyDetail}</Empty>}
      />
      {ending !== undefined && (
        <EndDialog instanceSlug={instanceSlug} tranche={ending} onClose={() => setEnding(undefined)} />
      )}
    </>
  )
}
