/** Creates or changes an entitlement. The type and how it is measured are chosen once. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Body, Entitlement } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNull, orNullNumber, orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined, useRead, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CheckField, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const TEXTS = [
  "name",
  "slug",
  "type",
  "aggregationMethod",
  "resetPeriod",
  "resetAnchor",
  "description",
  "unitSingular",
  "unitPlural",
  "saleUnitFactor",
  "saleUnitSingular",
  "saleUnitPlural",
  "displayOrder",
  "icon",
  "warningThresholdPercent",
] as const
const FIELDS = [...TEXTS, "groupSlugs"]

type Values = Readonly<Record<(typeof TEXTS)[number], string>> & {
  readonly userFacing: boolean
  readonly groupSlugs: ReadonlyArray<string>
}

const STALE = { stale: ["/api/entitlement", "/api/instances"] }

const initial = (one: Entitlement | undefined): Values => ({
  name: one?.name ?? "",
  slug: one?.slug ?? "",
  type: one?.type ?? "NUMBER",
  aggregationMethod: one?.aggregationMethod ?? "SUM",
  resetPeriod: one?.resetPeriod ?? "",
  resetAnchor: one?.resetAnchor ?? "CALENDAR",
  description: one?.description ?? "",
  unitSingular: one?.unitSingular ?? "",
  unitPlural: one?.unitPlural ?? "",
  saleUnitFactor: one?.saleUnitFactor?.toString() ?? "",
  saleUnitSingular: one?.saleUnitSingular ?? "",
  saleUnitPlural: one?.saleUnitPlural ?? "",
  displayOrder: one?.displayOrder.toString() ?? "0",
  icon: one?.icon ?? "",
  warningThresholdPercent: one?.warningThresholdPercent?.toString() ?? "",
  userFacing: one?.userFacing ?? true,
  groupSlugs: [],
})

/** What can change later too. */
const changeableOf = (values: Values) => ({
  name: values.name,
  description: proseOrNull(values.description),
  unitSingular: orNull(values.unitSingular),
  unitPlural: orNull(values.unitPlural),
  saleUnitFactor: orNullNumber(values.saleUnitFactor),
  saleUnitSingular: orNull(values.saleUnitSingular),
  saleUnitPlural: orNull(values.saleUnitPlural),
  displayOrder: orNullNumber(values.displayOrder),
  icon: orNull(values.icon),
  userFacing: values.userFacing,
  warningThresholdPercent: orNullNumber(values.warningThresholdPercent),
})

type Create = Body<"POST /api/entitlements">

/** How usage is measured; only amounts are. */
const measurementOf = ({ aggregationMethod, resetAnchor, resetPeriod, type }: Values) => {
  if (type !== "NUMBER") return {}
  const isConcurrent = aggregationMethod === "CONCURRENT"
  return {
    aggregationMethod: aggregationMethod as NonNullable<Create["aggregationMethod"]>,
    resetPeriod: isConcurrent ? null : (orNull(resetPeriod) as Create["resetPeriod"] & {}),
    resetAnchor: resetAnchor as NonNullable<Create["resetAnchor"]>,
  }
}

const choicesOf = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([id, title]) => ({ id, title }))

interface PartProps {
  readonly values: Values
  readonly field: (name: (typeof TEXTS)[number]) => {
    readonly value: string
    readonly onChange: (value: string) => void
    readonly error: string | undefined
  }
}

const Kind = ({ field, values }: PartProps) => (
  <>
    <SelectField label={t.type} hint={t.typeHint} {...field("type")} choices={choicesOf(t.types)} />
    {values.type === "NUMBER" && (
      <>
        <SelectField
          label={t.aggregation}
          hint={t.aggregationHint}
          {...field("aggregationMethod")}
          choices={choicesOf(t.aggregations)}
        />
        {values.aggregationMethod !== "CONCURRENT" && (
          <div className="form-row">
            <SelectField label={t.period} {...field("resetPeriod")} choices={choicesOf(t.periods)} />
            {values.resetPeriod !== "" && (
              <SelectField label={t.anchor} {...field("resetAnchor")} choices={choicesOf(t.anchors)} />
            )}
          </div>
        )}
      </>
    )}
  </>
)

const Details = ({ field, values }: PartProps) => (
  <>
    {values.type === "NUMBER" && (
      <>
        <div className="form-row">
          <TextField label={t.unit} hint={t.unitHint} {...field("unitSingular")} />
          <TextField label={t.units} {...field("unitPlural")} />
        </div>
        <div className="form-row">
          <TextField kind="decimal" label={t.saleFactor} {...field("saleUnitFactor")} />
          <TextField label={t.saleUnit} {...field("saleUnitSingular")} />
          <TextField label={t.saleUnits} {...field("saleUnitPlural")} />
        </div>
        <TextField kind="decimal" label={t.warning} hint={t.warningHint} {...field("warningThresholdPercent")} />
      </>
    )}
    <div className="form-row">
      <TextField kind="decimal" label={t.order} hint={t.orderHint} {...field("displayOrder")} />
      <TextField label={t.icon} {...field("icon")} />
    </div>
  </>
)

/** The groups to choose from. */
const Groups = ({
  error,
  onChange,
  value,
}: {
  readonly value: ReadonlyArray<string>
  readonly onChange: (slugs: ReadonlyArray<string>) => void
  readonly error: string | undefined
}) => {
  const groups = useRead("GET /api/entitlement-groups", { query: { limit: "200" } })
  if (groups.data === undefined || groups.data.items.length === 0) return null
  return (
    <fieldset className="fieldset">
      <legend className="label">{t.groups}</legend>
      {groups.data.items.map(({ id, name, slug }) => (
        <CheckField
          key={id}
          label={name}
          isSelected={value.includes(slug)}
          onChange={(isIn) => onChange(isIn ? [...value, slug] : value.filter((one) => one !== slug))}
        />
      ))}
      {error !== undefined && <span className="field-error">{error}</span>}
    </fieldset>
  )
}

const Fields = ({
  error,
  isNew,
  onChange,
  values,
}: {
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly error: unknown
  readonly isNew: boolean
}) => {
  const field = fieldsOf(values, onChange, error)
  const groups = field("groupSlugs")
  return (
    <>
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      {isNew && <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />}
      {isNew && <Kind field={field} values={values} />}
      <TextField label={common.common.description} {...field("description")} />
      <Details field={field} values={values} />
      <CheckField
        label={t.userFacing}
        isSelected={values.userFacing}
        onChange={(userFacing) => onChange({ ...values, userFacing })}
      />
      {isNew && <Groups {...groups} />}
    </>
  )
}

export const CreateEntitlement = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState(() => initial(undefined))
  const write = useWrite("POST /api/entitlements", { ...STALE, done: ({ slug }) => onCreated(slug) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      wide
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({
            ...changeableOf(values),
            ...measurementOf(values),
            type: values.type as Create["type"],
            slug: orUndefined(values.slug),
            groupSlugs: values.groupSlugs,
          }),
        })
      }
    >
      <Fields values={values} onChange={setValues} error={write.error} isNew />
    </FormDialog>
  )
}

export const EditEntitlement = ({
  entitlement,
  onClose,
}: {
  readonly entitlement: Entitlement
  readonly onClose: () => void
}) => {
  const params = { entitlementSlug: entitlement.slug }
  const { dialog, error, setValues, values } = useRecordForm("PUT /api/entitlements/:entitlementSlug", {
    record: entitlement,
    valuesOf: initial,
    bodyOf: changeableOf,
    read: () => call("GET /api/entitlements/:entitlementSlug", { params }),
    request: (body) => ({ params, body }),
    ...STALE,
    done: onClose,
  })
  return (
    <FormDialog title={t.edit} submit={common.common.save} fields={FIELDS} wide onClose={onClose} {...dialog}>
      <Fields values={values} onChange={setValues} error={error} isNew={false} />
    </FormDialog>
  )
}
