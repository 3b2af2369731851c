/** What a license version grants. Each change is asked with its dry run. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Grant } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { NamedLink } from "../widgets/records/Columns.tsx"
import { grantText } from "../widgets/records/GrantValue.tsx"
import { Empty } from "../widgets/States.tsx"
import { AddGrant, ChangeGrant, RemoveGrant } from "./GrantForms.tsx"
import { t } from "./texts.en.ts"

/** The entitlement by its name, as far as the first page of entitlements has it. */
const entitlementColumn = (names: ReadonlyMap<string, string>): Column<Grant> => ({
  id: "entitlement",
  title: t.entitlement,
  width: "2fr",
  cell: ({ entitlementSlug: slug }) => <NamedLink kind="entitlement" slug={slug} name={names.get(slug)} />,
})

const columns: ReadonlyArray<Column<Grant>> = [
  { id: "value", title: t.value, width: "2fr", cell: ({ value }) => grantText(value) },
  {
    id: "overage",
    title: t.overage,
    width: "1fr",
    isNumber: true,
    cell: ({ overagePercent }) => (overagePercent === 0 || overagePercent === null ? null : `${overagePercent} %`),
  },
]

/** Of add-ons. */
const combineColumn: Column<Grant> = {
  id: "combine",
  title: t.grants.combine,
  width: "2fr",
  cell: ({ combine }) => (combine === undefined ? null : t.grants.combines[combine]),
}

type Opened = { readonly change: Grant } | { readonly remove: Grant } | "add"

const RowButton = ({
  children,
  label,
  onPress,
}: {
  readonly children: string
  readonly label: string
  readonly onPress: () => void
}) => (
  <Button look="quiet" onPress={onPress}>
    <span className="visually-hidden">{label}</span>
    <span aria-hidden>{children}</span>
  </Button>
)

export const Grants = ({ isAddOn, slug }: { readonly slug: string; readonly isAddOn: boolean }) => {
  const rows = useRows("GET /api/licenses/:licenseSlug/entitlements", { params: { licenseSlug: slug } })
  const entitlements = useRows("GET /api/entitlements", {}, { when: useCan("read:entitlements") })
  const names = new Map(entitlements.rows?.map(({ name, slug: one }) => [one, name]))
  const mayWrite = useCan("write:licenses")
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened("add")}>
      {t.grants.add}
    </Button>
  )
  const actions: Column<Grant> = {
    id: "actions",
    title: t.grants.change,
    width: "150px",
    isUntitled: true,
    cell: (grant) => (
      <span className="inline">
        <RowButton label={t.grants.changeOf(grant.entitlementSlug)} onPress={() => setOpened({ change: grant })}>
          {t.grants.change}
        </RowButton>
        <RowButton label={t.grants.removeOf(grant.entitlementSlug)} onPress={() => setOpened({ remove: grant })}>
          {t.grants.remove}
        </RowButton>
      </span>
    ),
  }
  const isEmpty = rows.rows?.length === 0
  const named = [entitlementColumn(names), ...columns]
  const shown = isAddOn ? [...named, combineColumn] : named
  return (
    <>
      {!isEmpty && <div className="tab-tools">{add}</div>}
      <DataTable
        label={t.tabs.grants}
        unit="grant"
        columns={mayWrite ? [...shown, actions] : shown}
        rows={rows}
        rowKey={({ entitlementSlug }) => entitlementSlug}
        empty={
          <Empty title={t.noGrants} action={add}>
            {t.noGrantsDetail}
          </Empty>
        }
      />
      {opened === "add" && <AddGrant licenseSlug={slug} isAddOn={isAddOn} onClose={close} />}
      {typeof opened === "object" && "change" in opened && (
        <ChangeGrant licenseSlug={slug} grant={opened.change} onClose={close} />
      )}
      {typeof opened === "object" && "remove" in opened && (
        <RemoveGrant licenseSlug={slug} grant={opened.remove} onClose={close} />
      )}
    </>
  )
}
