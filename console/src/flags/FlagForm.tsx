/** Creates or changes a flag: everything but its targetings. */
import { useState } from "react"
import type { FeatureFlag } from "../kernel/Contract.ts"
import { orNull } from "../kernel/Inputs.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { t } from "./texts.en.ts"
import { STALE, useUpdate } from "./Update.ts"
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

/** The object of a field, or `undefined` if its text is none. */
const objectOf = (text: string): Readonly<Record<string, unknown>> | undefined => {
  if (text.trim() === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const bodyOf = (
  { defaultVariant, description, fallback, name, type, variants }: Values,
  metadata: Readonly<Record<string, unknown>>,
) => ({
  name: orNull(name),
  description: orNull(description),
  variants: variants.map((one) => ({ name: one.name, value: valueOfInput(one.value, type) })),
  defaultVariant: orNull(defaultVariant),
  metadata: fallback.trim() === "" ? metadata : { ...metadata, [FALLBACK]: valueOfInput(fallback, type) },
})

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
  /** What stands in the list of a boolean for no value. */
  readonly none?: string
}) => {
  const { none, ...rest } = field
  if (type === "boolean") {
    return <SelectField {...rest} choices={none === undefined ? booleans : [{ id: "", title: none }, ...booleans]} />
  }
  if (type === "object") return <TextField {...rest} kind="lines" isCode />
  return <TextField {...rest} kind={type === "string" ? "text" : "decimal"} />
}

/** Creates a flag, or changes the one that is there. */
const useSave = (flag: FeatureFlag | undefined, onSaved: (key: string) => void) => {
  const create = useWrite("POST /api/feature-flags", { ...STALE, done: ({ key }) => onSaved(key) })
  const update = useUpdate(flag, () => onSaved(flag?.key ?? ""))
  const { error, isPending } = flag === undefined ? create : update
  return {
    error,
    isPending,
    save: ({ key, type }: Values, body: ReturnType<typeof bodyOf>) =>
      flag === undefined ? create.mutate({ body: { key, type, ...body } }) : update.change(body),
  }
}

export const FlagForm = ({
  flag,
  onClose,
  onSaved,
}: {
  readonly flag?: FeatureFlag
  readonly onClose: () => void
  readonly onSaved: (key: string) => void
}) => {
  const [values, setValues] = useState(() => initial(flag))
  const isNew = flag === undefined
  const { error, isPending, save } = useSave(flag, onSaved)
  const metadata = objectOf(values.metadata)
  const set = (part: Partial<Values>) => setValues({ ...values, ...part })
  const field = fieldsOf(values, setValues, error)
  const fallbackError = errorAt(error, `metadata.${FALLBACK}`)
  const shown = values.variants.flatMap((_, index) => [`variants.${index}.name`, `variants.${index}.value`])
  const chooseType = (text: string) => {
    const type = types.find((one) => one === text) ?? "boolean"
    const isBoolean = type === "boolean"
    set({
      type,
      variants: isBoolean ? onAndOff() : [newLine({ name: "", value: "" })],
      defaultVariant: isBoolean ? "off" : "",
      fallback: isBoolean ? "false" : "",
    })
  }
  return (
    <FormDialog
      title={isNew ? t.create : t.edit}
      submit={isNew ? common.common.create : common.common.save}
      fields={["key", "name", "description", "defaultVariant", "metadata", ...shown]}
      onClose={onClose}
      write={{ error, isPending }}
      isDisabled={metadata === undefined}
      onSubmit={() => {
        if (metadata !== undefined) save(values, bodyOf(values, metadata))
      }}
      wide
    >
      {isNew && (
        <div className="form-row">
          <TextField label={t.key} hint={t.keyHint} isRequired isCode autoFocus {...field("key")} />
          <SelectField
            label={t.type}
            hint={t.typeHint}
            value={values.type}
            onChange={chooseType}
            choices={types.map((id) => ({ id, title: t.types[id] }))}
          />
        </div>
      )}
      <div className="form-row">
        <TextField label={common.common.name} hint={t.nameHint} {...field("name")} />
        <TextField label={common.common.description} {...field("description")} />
      </div>
      <ListField
        label={t.variants}
        hint={t.variantsHint}
        rows={values.variants}
        onChange={(variants) => set({ variants })}
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
      <div className="form-row">
        <SelectField
          label={t.defaultVariant}
          hint={t.defaultHint}
          value={values.defaultVariant}
          onChange={(defaultVariant) => set({ defaultVariant })}
          error={errorAt(error, "defaultVariant")}
          choices={[
            { id: "", title: t.noDefault },
            ...[...new Set(values.variants.map(({ name }) => name))]
              .filter((name) => name !== "")
              .map((id) => ({ id, title: id })),
          ]}
        />
        <ValueField
          type={values.type}
          label={t.fallback}
          hint={t.fallbackHint}
          none={t.noFallback}
          value={values.fallback}
          onChange={(fallback) => set({ fallback })}
          error={fallbackError}
        />
      </div>
      <TextField
        kind="lines"
        label={t.metadata}
        isCode
        value={values.metadata}
        onChange={(text) => set({ metadata: text })}
        error={
          metadata === undefined ? t.notJson : fallbackError === undefined ? errorAt(error, "metadata") : undefined
        }
      />
    </FormDialog>
  )
}
