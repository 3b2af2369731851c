/** The fields of a form from JSON Schema, with what the service found wrong at each. */
import { Plus, X } from "lucide-react"
import type { FieldError } from "../../kernel/Api.ts"
import { isReadable, KEPT } from "../../kernel/forms/SchemaForm.ts"
import type { Field } from "../../kernel/forms/SchemaForm.ts"
import { Button, IconButton } from "../Button.tsx"
import { Fieldset, SelectField, TextField } from "./Fields.tsx"
import { messageAt } from "./Form.tsx"
import { t } from "./texts.en.ts"

interface SchemaFieldsProps {
  readonly field: Field
  readonly onChange: (field: Field) => void
  readonly errors: ReadonlyArray<FieldError>
  /** The location of the value in the body, such as `body.settings`. */
  readonly at: string
  /** Names the value. The form as a whole needs none. */
  readonly label?: string
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : typeof value === "boolean" ? t[value ? "yes" : "no"] : JSON.stringify(value)

/** A part with parts: an object or a list. */
const Parts = ({ at, errors, field, label = "", onChange }: SchemaFieldsProps) => {
  if (field.kind !== "object" && field.kind !== "array") return null
  const isList = field.kind === "array"
  const parts = isList ? field.items.map((item, index) => [String(index), item] as const) : field.members
  const setParts = (next: typeof parts) =>
    onChange(isList ? { ...field, items: next.map(([, item]) => item) } : { ...field, members: next })
  const places = parts.map(([name]) => `${at}/${name}`)
  return (
    <Fieldset label={label} hint={textOf(field.description)} error={messageAt(errors, at, places)}>
      {parts.map(([name, part], index) => {
        const title = isList ? t.item(label, index + 1) : (textOf(part.title) ?? name)
        const change = (to: Field) => setParts(parts.map((one) => (one[0] === name ? [name, to] : one)))
        return (
          <div key={name} className={isList ? "schema-item" : undefined}>
            <SchemaFields at={`${at}/${name}`} errors={errors} field={part} label={title} onChange={change} />
            {isList && (
              <IconButton
                icon={<X aria-hidden size={16} />}
                label={t.remove(title)}
                onPress={() => setParts(parts.filter((one) => one[0] !== name))}
              />
            )}
          </div>
        )
      })}
      {isList && (
        <Button icon={<Plus aria-hidden size={14} />} onPress={() => setParts([...parts, ["", field.next]])}>
          {t.add(label)}
        </Button>
      )}
    </Fieldset>
  )
}

export const SchemaFields = (props: SchemaFieldsProps) => {
  const { at, errors, field, label = "", onChange } = props
  if (field.kind === "object" || field.kind === "array") return <Parts {...props} />
  const { description, fallback, isRequired, isSecret } = field
  const isKept = isSecret && field.blank === KEPT
  const format = field.kind === "text" ? t.formats[String(field.format)] : undefined
  const byDefault = fallback === undefined ? undefined : t.byDefault(textOf(fallback) ?? "")
  const hint = [textOf(description), format, byDefault, isKept ? t.stored : undefined].filter(Boolean).join(" ")
  const error = isReadable(field) ? messageAt(errors, at) : t.notJson
  const common = { label, isRequired, error, ...(hint === "" ? {} : { hint }) }
  if (field.kind === "choice") {
    const choices = field.choices.map((choice, index) => ({ id: String(index), title: textOf(choice) ?? "" }))
    const none = isRequired && field.chosen >= 0 ? [] : [{ id: "-1", title: t.notSet }]
    const choose = (id: string) => onChange({ ...field, chosen: Number(id) })
    return <SelectField {...common} value={String(field.chosen)} onChange={choose} choices={[...none, ...choices]} />
  }
  const isLong = field.kind === "json" || (field.kind === "text" && field.isLong)
  return (
    <>
      <TextField
        {...common}
        kind={isLong ? "lines" : isSecret ? "password" : field.kind === "number" ? "decimal" : "text"}
        rows={4}
        isCode={isSecret || field.kind === "json"}
        placeholder={isKept ? KEPT : ""}
        value={field.text ?? ""}
        onChange={(text) => onChange({ ...field, text: text === "" ? undefined : text })}
      />
      {isKept && !isRequired && (
        <Button look="quiet" onPress={() => onChange({ ...field, blank: null })}>
          {t.removeStored(label)}
        </Button>
      )}
    </>
  )
}
