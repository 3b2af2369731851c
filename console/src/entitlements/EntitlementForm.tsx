/** Creates or changes an entitlement. The type and how it is measured are chosen once. */
import { useState } from "react"
import type { Body, Entitlement } from "../kernel/Contract.ts"
import { orNull, orNullNumber, orUndefined } from "../kernel/Inputs.ts"
import { defined, useRead, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CheckField, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
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
  description: orNull(values.description),
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

const EntitlementDialog = ({
  entitlement,
  onClose,
  onSubmit,
  write,
}: {
  readonly entitlement?: Entitlement
  readonly onClose: () => void
  readonly onSubmit: (values: Values) => void
  readonly write: { readonly error: unknown; readonly isPending: boolean }
}) => {
  const [values, setValues] = useState(() => initial(entitlement))
  const isNew = entitlement === undefined
  const field: PartProps["field"] = (name) => ({
    value: values[name],
    onChange: (value) => setValues({ ...values, [name]: value }),
    error: errorAt(write.error, name),
  })
  return (
    <FormDialog
      title={isNew ? t.create : t.edit}
      submit={isNew ? common.common.create : common.common.save}
      fields={FIELDS}
      wide
      onClose={onClose}
      write={write}
      onSubmit={() => onSubmit(values)}
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      {isNew && <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />}
      {isNew && <Kind field={field} values={values} />}
      <TextField label={common.common.description} {...field("description")} />
      <Details field={field} values={values} />
      <CheckField
        label={t.userFacing}
        isSelected={values.userFacing}
        onChange={(userFacing) => setValues({ ...values, userFacing })}
      />
      {isNew && (
        <Groups
          value={values.groupSlugs}
          onChange={(groupSlugs) => setValues({ ...values, groupSlugs })}
          error={errorAt(write.error, "groupSlugs")}
        />
      )}
    </FormDialog>
  )
}

export const CreateEntitlement = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const write = useWrite("POST /api/entitlements", { ...STALE, done: ({ slug }) => onCreated(slug) })
  return (
    <EntitlementDialog
      onClose={onClose}
      write={write}
      onSubmit={(values) =>
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
    />
  )
}

export const EditEntitlement = ({
  entitlement,
  onClose,
}: {
  readonly entitlement: Entitlement
  readonly onClose: () => void
}) => {
  const write = useWrite("PUT /api/entitlements/:entitlementSlug", { ...STALE, done: onClose })
  return (
    <EntitlementDialog
      entitlement={entitlement}
      onClose={onClose}
      write={write}
      onSubmit={(values) => write.mutate({ params: { entitlementSlug: entitlement.slug }, body: changeableOf(values) })}
    />
  )
}
