/** Adds or changes a targeting, as a form or as JSON. */
import { useState } from "react"
import { objectForBody } from "../kernel/Amount.ts"
import type { FeatureFlag } from "../kernel/Contract.ts"
import { isSame } from "../kernel/forms/Change.ts"
import type { Edit } from "../kernel/forms/Edit.ts"
import { resolutionOf, useEdit, useUpdate } from "../kernel/forms/Update.ts"
import { numberOf } from "../kernel/Inputs.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Segments, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { sentenceOf } from "./Sentence.ts"
import { t } from "./texts.en.ts"
import { updateOf } from "./Update.ts"
import { formatValues, parseValues } from "./Values.ts"
import type { Operator, Targeting } from "./Values.ts"

interface ConditionLine extends Line {
  readonly attribute: string
  readonly operator: Operator
  readonly values: string
}

interface Values {
  readonly name: string
  readonly variant: string
  readonly percentage: string
  readonly conditions: ReadonlyArray<ConditionLine>
}

const operators = Object.keys(t.operators) as ReadonlyArray<Operator>
const operatorChoices = operators.map((id) => ({ id, title: t.operators[id] }))

const newCondition = (): ConditionLine => newLine({ attribute: "", operator: "EQUALS", values: "" })

const valuesOf = ({ conditions, name, percentage, variant }: Targeting): Values => ({
  name,
  variant,
  percentage: percentage?.toString() ?? "",
  conditions: conditions.map(({ attribute, operator, values = [] }) =>
    newLine({ attribute, operator, values: formatValues(values, operator) }),
  ),
})

const targetingOf = ({ conditions, name, percentage, variant }: Values): Targeting => ({
  name,
  variant,
  conditions: conditions.map(({ attribute, operator, values }) => ({
    attribute,
    operator,
    values: parseValues(values, operator),
  })),
  ...(percentage.trim() === "" ? {} : { percentage: numberOf(percentage) }),
})

/** The targeting in a text, or `undefined` if the text is not an object. The service reports other errors. */
const targetingOfJson = (text: string) => objectForBody(text) as Targeting | undefined

/** The targeting for the form, if it has everything that the form shows. */
const isWhole = (targeting: Targeting | undefined): targeting is Targeting =>
  typeof targeting?.name === "string" && typeof targeting.variant === "string" && Array.isArray(targeting.conditions)

const Conditions = ({
  error,
  onChange,
  place,
  rows,
}: {
  readonly rows: ReadonlyArray<ConditionLine>
  readonly onChange: (rows: ReadonlyArray<ConditionLine>) => void
  readonly error: unknown
  readonly place: string
}) => (
  <ListField
    label={t.conditions}
    hint={t.conditionsHint}
    rows={rows}
    onChange={onChange}
    add={newCondition}
    addLabel={t.addCondition}
    nameOf={({ attribute }, index) => attribute || t.row(index)}
  >
    {(row, change, index) => (
      <>
        <TextField
          label={t.attribute}
          isCode
          value={row.attribute}
          onChange={(attribute) => change({ attribute })}
          error={errorAt(error, `${place}.conditions.${index}.attribute`)}
        />
        <SelectField
          label={t.operator}
          choices={operatorChoices}
          value={row.operator}
          onChange={(id) => change({ operator: operators.find((one) => one === id) ?? "EQUALS" })}
        />
        <TextField
          label={t.values}
          value={row.values}
          onChange={(values) => change({ values })}
          error={errorAt(error, `${place}.conditions.${index}.values`)}
        />
      </>
    )}
  </ListField>
)

/** The edit of a targeting in a list that is sent as a whole: the other targetings are sent as they are stored. */
const editInList = (
  seen: FeatureFlag,
  name: string | undefined,
  targetingFor: (flag: FeatureFlag) => Targeting,
): Edit<FeatureFlag, { readonly targetings: ReadonlyArray<Targeting> }> => ({
  seen,
  replaces: (flag) => (name === undefined ? {} : { targetings: foundIn(flag, name) }),
  bodyFor: (flag) => {
    const index = indexIn(flag, name)
    return { targetings: flag.targetings.toSpliced(index, 1, targetingFor(flag)) }
  },
})

const foundIn = ({ targetings }: FeatureFlag, name: string | undefined) => targetings.find((one) => one.name === name)

/** The place of a targeting in the list; the end for a new one. */
const indexIn = ({ targetings }: FeatureFlag, name: string | undefined): number => {
  const index = targetings.findIndex((one) => one.name === name)
  return index === -1 ? targetings.length : index
}

export const TargetingForm = ({
  flag,
  name,
  onClose,
}: {
  readonly flag: FeatureFlag
  /** The targeting that is changed. Without it, one is added at the end. */
  readonly name?: string
  readonly onClose: () => void
}) => {
  const form = useEdit(
    flag,
    (one): Values => {
      const found = foundIn(one, name)
      return found === undefined
        ? { name: "", variant: one.variants[0]?.name ?? "", percentage: "", conditions: [newCondition()] }
        : valuesOf(found)
    },
    targetingOf,
  )
  const { seen, setValues, values } = form
  const { variants } = seen
  const [mode, setMode] = useState("form")
  const [json, setJson] = useState("")
  const update = useUpdate("PUT /api/feature-flags/:key", { ...updateOf(flag.key), done: onClose })
  const { error } = update
  const place = `targetings.${indexIn(seen, name)}`
  const isForm = mode === "form"
  const targeting = isForm ? targetingOf(values) : targetingOfJson(json)
  const set = (part: Partial<Values>) => setValues({ ...values, ...part })
  const choose = (next: string) => {
    const untouched = form.edit === undefined ? foundIn(seen, name) : undefined
    if (next === "json") setJson(JSON.stringify(untouched ?? targeting, null, 2))
    // What the form cannot show stays JSON.
    else if (isWhole(targeting)) setValues(valuesOf(targeting))
    else return
    setMode(next)
  }
  const changed = (typed: Targeting) => {
    if (name === undefined || !isForm) {
      return isSame(typed, foundIn(seen, name)) ? undefined : editInList(seen, name, () => typed)
    }
    const { edit } = form
    return edit && editInList(seen, name, (one) => ({ ...typed, ...foundIn(one, name), ...edit.bodyFor(one) }))
  }
  const shown = values.conditions.flatMap((_, row) => [
    `${place}.conditions.${row}.attribute`,
    `${place}.conditions.${row}.values`,
  ])
  return (
    <FormDialog
      title={name === undefined ? t.addTargeting : t.editTargeting}
      submit={common.common.save}
      fields={isForm ? [`${place}.name`, `${place}.variant`, `${place}.percentage`, ...shown] : []}
      onClose={onClose}
      write={update}
      resolution={resolutionOf(error, { ...form, take: onClose }, update.reset)}
      isDisabled={targeting === undefined}
      onSubmit={() => {
        if (targeting !== undefined) update.save(changed(targeting))
      }}
      wide
    >
      <div>
        <Segments
          label={t.mode}
          value={mode}
          onChange={choose}
          choices={[
            { id: "form", title: t.asForm },
            { id: "json", title: t.asJson },
          ]}
        />
      </div>
      {isForm ? (
        <>
          <div className="form-row">
            <TextField
              label={common.common.name}
              isRequired
              autoFocus
              value={values.name}
              onChange={(text) => set({ name: text })}
              error={errorAt(error, `${place}.name`)}
            />
            <SelectField
              label={t.variant}
              choices={variants.map((one) => ({ id: one.name, title: one.name }))}
              value={values.variant}
              onChange={(variant) => set({ variant })}
              error={errorAt(error, `${place}.variant`)}
            />
            <TextField
              kind="decimal"
              label={t.percentage}
              hint={t.percentageHint}
              value={values.percentage}
              onChange={(percentage) => set({ percentage })}
              error={errorAt(error, `${place}.percentage`)}
            />
          </div>
          <Conditions
            rows={values.conditions}
            onChange={(conditions) => set({ conditions })}
            error={error}
            place={place}
          />
          <p className="muted" role="status">
            {targeting === undefined ? "" : sentenceOf(targeting)}
          </p>
        </>
      ) : (
        <TextField
          kind="lines"
          label={t.json}
          isCode
          value={json}
          onChange={setJson}
          error={targeting === undefined ? t.notJson : undefined}
        />
      )}
    </FormDialog>
  )
}
