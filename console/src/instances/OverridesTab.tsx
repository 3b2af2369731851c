/** Who changed what the license grants, why, and until when. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Override } from "../kernel/Contract.ts"
import { useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { CheckField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog } from "../widgets/forms/Form.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { isOver, lastColumns, stateColumn } from "./Agreed.tsx"
import { OVERRIDES, OverrideForm, valueText } from "./OverrideForm.tsx"
import { t } from "./texts.en.ts"

const EndDialog = ({ onClose, override }: { readonly override: Override; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/instances/:instanceSlug/entitlements/:entitlementSlug/override", {
    stale: ["/api/instances"],
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.overrides.endTitle(override.entitlement)}
      submit={t.overrides.end}
      onClose={onClose}
      write={write}
      onConfirm={() =>
        write.mutate({ params: { instanceSlug: override.instance, entitlementSlug: override.entitlement } })
      }
    >
      <p>{t.overrides.endText}</p>
    </ConfirmDialog>
  )
}

export const OverridesTab = ({
  entitlements,
  instanceSlug,
  licenseSlug,
}: {
  readonly instanceSlug: string
  readonly licenseSlug: string
  readonly entitlements: ReadonlyArray<string>
}) => {
  const mayRead = useCan("read:licenses")
  const mayWrite = useCan("write:licenses")
  const [withEnded, setWithEnded] = useState(false)
  const [isAdding, setAdding] = useState(false)
  const [ending, setEnding] = useState<Override>()
  const rows = useRows(
    OVERRIDES,
    { params: { instanceSlug }, query: { history: withEnded ? "true" : "false" } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:licenses" />
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setAdding(true)}>
      {t.overrides.add}
    </Button>
  )
  const columns: ReadonlyArray<Column<Override>> = [
    {
      id: "entitlement",
      title: t.usage.entitlement,
      width: "1.4fr",
      cell: ({ entitlement }) => <Code>{entitlement}</Code>,
    },
    { id: "value", title: t.overrides.value, width: "1fr", cell: valueText },
    stateColumn,
    ...lastColumns,
    {
      id: "end",
      title: t.overrides.end,
      width: "64px",
      isUntitled: true,
      cell: (override) =>
        mayWrite && !isOver(override) ? (
          <Button look="quiet" onPress={() => setEnding(override)}>
            {t.overrides.end}
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <div className="tab-tools">
        <CheckField label={t.overrides.history} isSelected={withEnded} onChange={setWithEnded} />
        {add}
      </div>
      <DataTable
        label={t.tabs.overrides}
        unit="override"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.overrides.empty}>{t.overrides.emptyDetail}</Empty>}
      />
      {isAdding && (
        <OverrideForm
          instanceSlug={instanceSlug}
          licenseSlug={licenseSlug}
          entitlements={entitlements}
          shown={rows.rows ?? []}
          onClose={() => setAdding(false)}
        />
      )}
      {ending !== undefined && <EndDialog override={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}
