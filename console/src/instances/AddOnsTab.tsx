/** What an instance has bought beside its license: how often, and from when until when. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { AddOn } from "../kernel/Contract.ts"
import { formatBoundary } from "../kernel/Formats.ts"
import { numberOf, orNull, orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { CheckField, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { ReviewDialog } from "../widgets/records/ReviewDialog.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { isOver, lastColumns, stateColumn } from "./Agreed.tsx"
import { t } from "./texts.en.ts"

const ADD_ONS = "GET /api/instances/:instanceSlug/add-ons"
const STALE = { stale: ["/api/instances"] }

const FIELDS = ["familySlug", "quantity", "startsAt", "endsAt", "reason"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

/** The families of add-ons, for a choice. */
const useFamilies = (): ReadonlyArray<string> => {
  const { rows = [] } = useRows("GET /api/licenses", { query: { type: "ADD_ON" } })
  return [...new Set(rows.map(({ familySlug }) => familySlug))].toSorted()
}

const AddOnForm = ({
  addOn,
  families,
  instanceSlug,
  onClose,
}: {
  readonly instanceSlug: string
  readonly families: ReadonlyArray<string>
  /** What is in force or planned, if it is to be changed. */
  readonly addOn: AddOn | undefined
  readonly onClose: () => void
}) => {
  const [values, setValues] = useState<Values>({
    familySlug: addOn?.addOn ?? families[0] ?? "",
    quantity: String(addOn?.quantity ?? 1),
    startsAt: "",
    endsAt: "",
    reason: "",
  })
  const request = {
    params: { instanceSlug, familySlug: values.familySlug },
    body: defined({
      quantity: numberOf(values.quantity),
      startsAt: orUndefined(values.startsAt),
      endsAt: orNull(values.endsAt),
      reason: proseOrNull(values.reason),
    }),
  }
  return (
    <ReviewDialog
      title={addOn === undefined ? t.addOns.add : t.addOns.changeTitle(addOn.addOn)}
      submit={common.common.save}
      fields={FIELDS}
      onClose={onClose}
      operation="PUT /api/instances/:instanceSlug/add-ons/:familySlug"
      {...STALE}
      request={request}
    >
      {(error) => {
        const field = fieldsOf(values, setValues, error)
        return (
          <>
            <p className="hint">{t.addOns.hint}</p>
            <div className="form-row">
              {addOn === undefined && (
                <SelectField
                  label={t.addOns.addOn}
                  {...field("familySlug")}
                  choices={families.map((id) => ({ id, title: id }))}
                />
              )}
              <TextField kind="decimal" label={t.addOns.quantity} isRequired autoFocus {...field("quantity")} />
            </div>
            <div className="form-row">
              <MomentField label={t.addOns.from} {...field("startsAt")} />
              <MomentField label={t.overrides.until} {...field("endsAt")} />
            </div>
            <TextField label={t.overrides.reason} {...field("reason")} />
          </>
        )
      }}
    </ReviewDialog>
  )
}

const columns: ReadonlyArray<Column<AddOn>> = [
  {
    id: "addOn",
    title: t.addOns.addOn,
    width: "1.6fr",
    cell: ({ addOn, license }) => (
      <RecordLink kind="license" slug={license}>
        {addOn}
      </RecordLink>
    ),
  },
  { id: "quantity", title: t.addOns.quantity, width: "0.8fr", isNumber: true, cell: ({ quantity }) => quantity },
  stateColumn,
  { id: "from", title: t.overrides.from, width: "1.5fr", cell: ({ startsAt }) => formatBoundary(startsAt) },
  ...lastColumns,
]

type Opened = { readonly change: AddOn } | { readonly remove: AddOn } | "add"

export const AddOnsTab = ({ instanceSlug }: { readonly instanceSlug: string }) => {
  const mayRead = useCan("read:licenses")
  const mayWrite = useCan("write:licenses")
  const [withEnded, setWithEnded] = useState(false)
  const [opened, setOpened] = useState<Opened>()
  const families = useFamilies()
  const rows = useRows(
    ADD_ONS,
    { params: { instanceSlug }, query: { history: withEnded ? "true" : "false" } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:licenses" />
  const close = () => setOpened(undefined)
  const add = mayWrite && families.length > 0 && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened("add")}>
      {t.addOns.add}
    </Button>
  )
  const actions: Column<AddOn> = {
    id: "actions",
    title: t.addOns.change,
    width: "150px",
    isUntitled: true,
    cell: (addOn) =>
      isOver(addOn) ? null : (
        <span className="inline">
          <Button look="quiet" onPress={() => setOpened({ change: addOn })}>
            {t.addOns.change}
          </Button>
          <Button look="quiet" onPress={() => setOpened({ remove: addOn })}>
            {t.overrides.end}
          </Button>
        </span>
      ),
  }
  return (
    <>
      <div className="tab-tools">
        <CheckField label={t.overrides.history} isSelected={withEnded} onChange={setWithEnded} />
        {add}
      </div>
      <DataTable
        label={t.tabs.addOns}
        unit="addOn"
        columns={mayWrite ? [...columns, actions] : columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.addOns.empty}>{t.addOns.emptyDetail}</Empty>}
      />
      {opened !== undefined && (opened === "add" || "change" in opened) && (
        <AddOnForm
          instanceSlug={instanceSlug}
          families={families}
          addOn={opened === "add" ? undefined : opened.change}
          onClose={close}
        />
      )}
      {typeof opened === "object" && "remove" in opened && (
        <ImpactDialog
          title={t.addOns.endTitle(opened.remove.addOn)}
          submit={t.overrides.end}
          operation="DELETE /api/instances/:instanceSlug/add-ons/:familySlug"
          request={{ params: { instanceSlug, familySlug: opened.remove.addOn } }}
          {...STALE}
          onClose={close}
        >
          <p>{t.addOns.endText}</p>
        </ImpactDialog>
      )}
    </>
  )
}
