/** One entitlement: what it is, the groups that it is in, and the license versions that grant it. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import { formatAmount } from "../kernel/Amount.ts"
import type { Entitlement, License } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Facts } from "../widgets/Page.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { activityTab, deleteAction, editAction, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import { AddToGroup, DeleteEntitlement, RemoveFromGroup } from "./EntitlementDialogs.tsx"
import { EditEntitlement } from "./EntitlementForm.tsx"
import { t } from "./texts.en.ts"

const pair = (one: string | null, many: string | null): string | null =>
  one === null || many === null ? (one ?? many) : `${one}, ${many}`

const Definition = ({ entitlement }: { readonly entitlement: Entitlement }) => {
  const { aggregationMethod, resetAnchor, resetPeriod, saleUnitFactor, warningThresholdPercent } = entitlement
  const isMeasured = aggregationMethod !== null
  return (
    <Facts
      items={[
        [t.type, t.types[entitlement.type]],
        [t.aggregation, isMeasured ? t.aggregations[aggregationMethod] : null],
        [t.period, isMeasured ? t.periods[resetPeriod ?? ""] : null],
        [t.anchor, resetPeriod === null || resetAnchor === null ? null : t.anchors[resetAnchor]],
        [t.unit, pair(entitlement.unitSingular, entitlement.unitPlural)],
        [t.saleFactor, saleUnitFactor === null ? null : formatAmount(saleUnitFactor)],
        [t.saleUnit, pair(entitlement.saleUnitSingular, entitlement.saleUnitPlural)],
        [t.warning, warningThresholdPercent === null ? null : t.percent(warningThresholdPercent)],
        [t.order, entitlement.displayOrder],
        [t.icon, entitlement.icon],
        [common.common.created, <Moment key="at" at={entitlement.createdAt} />],
      ]}
    />
  )
}

type Group = Entitlement["entitlementGroups"][number]

const Groups = ({ entitlement, mayWrite }: { readonly entitlement: Entitlement; readonly mayWrite: boolean }) => {
  const [isAdding, setAdding] = useState(false)
  const [leaving, setLeaving] = useState<Group>()
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setAdding(true)}>
      {t.addToGroup}
    </Button>
  )
  const columns: ReadonlyArray<Column<Group>> = [
    nameColumn("entitlementGroup", "3fr"),
    {
      id: "remove",
      title: t.removeFrom,
      width: "90px",
      isUntitled: true,
      cell: (group) =>
        mayWrite ? (
          <Button look="quiet" onPress={() => setLeaving(group)}>
            <span className="visually-hidden">{t.removeFromGroup(group.slug)}</span>
            <span aria-hidden>{t.removeFrom}</span>
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      {entitlement.entitlementGroups.length > 0 && <div className="tab-tools">{add}</div>}
      <DataTable
        label={t.groups}
        unit="group"
        columns={columns}
        rows={complete(entitlement.entitlementGroups)}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.noGroups} action={add}>
            {t.groupHint}
          </Empty>
        }
      />
      {isAdding && <AddToGroup entitlement={entitlement} onClose={() => setAdding(false)} />}
      {leaving !== undefined && (
        <RemoveFromGroup entitlement={entitlement} group={leaving} onClose={() => setLeaving(undefined)} />
      )}
    </>
  )
}

const licenseColumns: ReadonlyArray<Column<License>> = [
  nameColumn("license", "2fr", ({ name, version }) => `${name} v${version}`),
  { id: "family", title: t.family, width: "1.5fr", cell: ({ familySlug }) => <Code>{familySlug}</Code> },
  updatedColumn,
]

const Licenses = ({ slug }: { readonly slug: string }) => {
  const isAllowed = useCan("read:licenses")
  const rows = useRows("GET /api/licenses", { query: { entitlement: slug } }, { when: isAllowed })
  if (!isAllowed) return <NotAllowed scope="read:licenses" />
  return (
    <DataTable
      label={t.tabs.licenses}
      unit="license"
      columns={licenseColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noLicenses}>{t.noLicensesDetail}</Empty>}
    />
  )
}

const Loaded = ({ record: entitlement }: { readonly record: Entitlement }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:entitlements")
  return (
    <RecordPage
      title={entitlement.name}
      list={{ to: "/entitlements", title: t.title }}
      isReadOnly={!mayWrite}
      actions={[
        editAction(mayWrite, (close) => <EditEntitlement entitlement={entitlement} onClose={close} />),
        deleteAction(mayWrite, (close) => (
          <DeleteEntitlement
            entitlement={entitlement}
            onClose={close}
            onDone={() => void navigate({ to: "/entitlements" })}
          />
        )),
      ]}
      facts={
        <>
          <Code>{entitlement.slug}</Code>
          <span>{t.types[entitlement.type]}</span>
          {!entitlement.userFacing && <Tag tone="neutral">{t.internal}</Tag>}
          {entitlement.description !== null && <span>{entitlement.description}</span>}
        </>
      }
      tabs={[
        { id: "definition", title: t.tabs.definition, content: () => <Definition entitlement={entitlement} /> },
        { id: "groups", title: t.tabs.groups, content: () => <Groups entitlement={entitlement} mayWrite={mayWrite} /> },
        { id: "licenses", title: t.tabs.licenses, content: () => <Licenses slug={entitlement.slug} /> },
        activityTab(entitlement),
      ]}
    />
  )
}

export const Page = pageOf(
  "GET /api/entitlements/:entitlementSlug",
  (entitlementSlug) => ({ params: { entitlementSlug } }),
  Loaded,
)
