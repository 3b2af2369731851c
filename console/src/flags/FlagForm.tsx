/** Creates or changes a flag: everything but its targetings. */
import { useState } from "react"
import { objectForBody } from "../kernel/Amount.ts"
import type { FeatureFlag } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNull, proseOrNull } from "../kernel/Inputs.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { t } from "./texts.en.ts"
import { STALE, updateOf } from "./Update.ts"
import { inputOfValue, valueOfInput } from "./Values.ts"
import type { FlagType } from "./Values.ts"

const FALLBACK = "fallback_value"

interface VariantLine extends Line {
  readonly name: string
  readonly value: string
}

interface Values {
  readonly key: string
  readonly type: FlagType
  readonly name: string
  readonly description: string
  readonly variants: ReadonlyArray<VariantLine>
  readonly defaultVariant: string
  readonly fallback: string
  readonly metadata: string
}

const onAndOff = () => [newLine({ name: "on", value: "true" }), newLine({ name: "off", value: "false" })]

const initial = (flag: FeatureFlag | undefined): Values => {
  if (flag === undefined) {
    return {
      key: "",
      type: "boolean",
      name: "",
      description: "",
      variants: onAndOff(),
      defaultVariant: "off",
      fallback: "false",
      metadata: "",
    }
  }
  const { [FALLBACK]: fallback, ...metadata } = flag.metadata
  return {
    key: flag.key,
    type: flag.type,
    name: flag.name,
    description: flag.description ?? "",
    variants: flag.variants.map(({ name, value }) => newLine({ name, value: inputOfValue(value, flag.type) })),
    defaultVariant: flag.defaultVariant ?? "",
    fallback: inputOfValue(fallback, flag.type),
    metadata: Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata, null, 2),
  }
}

/** The object in the text of a field, or `undefined` if the text is not an object. */
const objectOf = (text: string) => (text.trim() === "" ? {} : objectForBody(text))

const bodyOf = ({ defaultVariant, description, fallback, metadata, name, type, variants }: Values) => {
  // A form whose text is not an object cannot be sent.
  const others = objectOf(metadata) ?? {}
  return {
    name: orNull(name),
    description: proseOrNull(description),
    variants: variants.map((one) => ({ name: one.name, value: valueOfInput(one.value, type) })),
    defaultVariant: orNull(defaultVariant),
    metadata: fallback.trim() === "" ? others : { ...others, [FALLBACK]: valueOfInput(fallback, type) },
  }
}

const types: ReadonlyArray<FlagType> = ["boolean", "string", "integer", "float", "object"]
const booleans = [
  { id: "true", title: "true" },
  { id: "false", title: "false" },
]

/** A field for a value of the flag's type. */
const ValueField = ({
  type,
  ...field
}: {
  readonly type: FlagType
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
  readonly hint?: string
  /** The choice for no value in the list of a boolean. */
  readonly none?: string
}) => {
  const { none, ...rest } = field
  if (type === "boolean") {
    return <SelectField {...rest} choices={none === undefined ? booleans : [{ id: "", title: none }, ...booleans]} />
  }
  if (type === "object") return <TextField {...rest} kind="lines" isCode />
  return <TextField {...rest} kind={type === "string" ? "text" : "decimal"} />
}

interface FieldsProps {
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly error: unknown
}

const Variants = ({ error, onChange, values }: FieldsProps) => (
  <ListField
    label={t.variants}
    hint={t.variantsHint}
    rows={values.variants}
    onChange={(variants) => onChange({ ...values, variants })}
    add={() => newLine({ name: "", value: values.type === "boolean" ? "true" : "" })}
    addLabel={t.addVariant}
    nameOf={({ name }, index) => name || t.row(index)}
  >
    {(row, change, index) => (
      <>
        <TextField
          label={t.variant}
          value={row.name}
          onChange={(name) => change({ name })}
          error={errorAt(error, `variants.${index}.name`)}
        />
        <ValueField
          type={values.type}
          label={t.value}
          value={row.value}
          onChange={(value) => change({ value })}
          error={errorAt(error, `variants.${index}.value`)}
        />
      </>
    )}
  </ListField>
)

const Fields = ({ error, onChange, values }: FieldsProps) => {
  const field = fieldsOf(values, onChange, error)
  const fallbackError = errorAt(error, `metadata.${FALLBACK}`)
  const isReadable = objectOf(values.metadata) !== undefined
  const names = [...new Set(values.variants.map(({ name }) => name))].filter((name) => name !== "")
  return (
    <>
      <div className="form-row">
        <TextField label={common.common.name} hint={t.nameHint} {...field("name")} />
        <TextField label={common.common.description} {...field("description")} />
      </div>
      <Variants values={values} onChange={onChange} error={error} />
      <div className="form-row">
        <SelectField
          label={t.defaultVariant}
          hint={t.defaultHint}
          {...field("defaultVariant")}
          choices={[{ id: "", title: t.noDefault }, ...names.map((id) => ({ id, title: id }))]}
        />
        <ValueField
          type={values.type}
          label={t.fallback}
          hint={t.fallbackHint}
          none={t.noFallback}
          {...field("fallback")}
          error={fallbackError}
        />
      </div>
      <TextField
        kind="lines"
        label={t.metadata}
        isCode
        {...field("metadata")}
        error={!isReadable ? t.notJson : fallbackError === undefined ? errorAt(error, "metadata") : undefined}
      />
    </>
  )
}

/** The fields that show errors themselves. */
const fieldsIn = ({ variants }: Values): ReadonlyArray<string> => [
  "key",
  "name",
  "description",
  "defaultVariant",
  "metadata",
  ...variants.flatMap((_, index) => [`variants.${index}.name`, `variants.${index}.value`]),
]

export const CreateFlag = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (key: string) => void
}) => {
  const [values, setValues] = useState(() => initial(undefined))
  const write = useWrite("POST /api/feature-flags", { ...STALE, done: ({ key }) => onCreated(key) })
  const chooseType = (text: string) => {
    const type = types.find((one) => one === text) ?? "boolean"
    const isBoolean = type === "boolean"
    setValues({
      ...values,
      type,
      variants: isBoolean ? onAndOff() : [newLine({ name: "", value: "" })],
      defaultVariant: isBoolean ? "off" : "",
      fallback: isBoolean ? "false" : "",
    })
  }
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={fieldsIn(values)}
      onClose={onClose}
      write={write}
      isDisabled={objectOf(values.metadata) === undefined}
      onSubmit={() => write.mutate({ body: { key: values.key, type: values.type, ...bodyOf(values) } })}
      wide
    >
      <div className="form-row">
        <TextField
          label={t.key}
          hint={t.keyHint}
          isRequired
          isCode
          autoFocus
          {...fieldsOf(values, setValues, write.error)("key")}
        />
        <SelectField
          label={t.type}
          hint={t.typeHint}
          value={values.type}
          onChange={chooseType}
          choices={types.map((id) => ({ id, title: t.types[id] }))}
        />
      </div>
      <Fields values={values} onChange={setValues} error={write.error} />
    </FormDialog>
  )
}

export const EditFlag = ({ flag, onClose }: { readonly flag: FeatureFlag; readonly onClose: () => void }) => {
  const { dialog, error, setValues, values } = useRecordForm("PUT /api/feature-flags/:key", {
    record: flag,
    valuesOf: initial,
    bodyOf,
    merged: ["metadata"],
    ...updateOf(flag.key),
    done: onClose,
  })
  return (
    <FormDialog
      title={t.edit}
      submit={common.common.save}
      fields={fieldsIn(values)}
      onClose={onClose}
      isDisabled={objectOf(values.metadata) === undefined}
      wide
      {...dialog}
    >
      <Fields values={values} onChange={setValues} error={error} />
    </FormDialog>
  )
}
