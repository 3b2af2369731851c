/** A duration as people say it: a number and a unit. Its value is the text of its seconds. */
import { useState } from "react"
import { DURATION_UNITS, durationOf } from "../../kernel/Formats.ts"
import { SelectField, TextField } from "./Fields.tsx"
import type { FieldProps } from "./Fields.tsx"
import { t } from "./texts.en.ts"

type Unit = keyof typeof DURATION_UNITS

interface Typed {
  readonly count: string
  readonly unit: Unit
}

/** Text that is no number stays as it is, so that the service says at the field what is wrong. */
const secondsOf = ({ count, unit }: Typed): string => {
  const trimmed = count.trim()
  return trimmed === "" || !Number.isFinite(Number(trimmed)) ? trimmed : String(Number(trimmed) * DURATION_UNITS[unit])
}

const typedOf = (seconds: string): Typed => {
  const { count, unit } = durationOf(Number(seconds))
  return { count: String(count), unit }
}

const choices = (["second", "minute", "hour", "day"] as const).map((id) => ({ id, title: t.units[id] }))

export const DurationField = ({
  onChange,
  value,
  ...field
}: FieldProps & { readonly value: string; readonly onChange: (value: string) => void }) => {
  const [typed, setTyped] = useState(() => typedOf(value))
  // The form shows another record, such as the stored one after a conflict.
  const shown = secondsOf(typed) === value ? typed : typedOf(value)
  const change = (part: Partial<Typed>) => {
    const next = { ...shown, ...part }
    setTyped(next)
    onChange(secondsOf(next))
  }
  return (
    <div className="form-row">
      <TextField kind="decimal" {...field} value={shown.count} onChange={(count) => change({ count })} />
      <SelectField
        label={t.unitOf(field.label)}
        value={shown.unit}
        onChange={(id) => change({ unit: choices.find((one) => one.id === id)?.id ?? shown.unit })}
        choices={choices}
      />
    </div>
  )
}
