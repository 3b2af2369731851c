/** The value of a grant or an override: an amount, access, or a configuration. */
import { approximate, formatAmount, objectForBody } from "../../kernel/Amount.ts"
import type { Entitlement, Grant } from "../../kernel/Contract.ts"
import { numberOf } from "../../kernel/Inputs.ts"
import { CheckField, SelectField, TextField } from "../forms/Fields.tsx"
import { t } from "./texts.en.ts"

type Value = Grant["value"]

const UNLIMITED = "-1"

/** The value in words. */
export const grantText = (value: Value): string => {
  if (typeof value === "boolean") return value ? t.value.yes : t.value.no
  if (typeof value === "object") return JSON.stringify(value)
  return approximate(value) === -1 ? t.value.unlimited : formatAmount(value)
}

/** The value as it is typed. */
export const inputOfGrant = (value: Value): string =>
  typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)

/** The value that was typed: `true` or `false`, JSON, or a number. Other text is sent as it is, for the service to judge. */
export const grantOfInput = (text: string): number | boolean | Readonly<Record<string, unknown>> => {
  const trimmed = text.trim()
  if (trimmed === "true" || trimmed === "false") return trimmed === "true"
  return (trimmed.startsWith("{") ? objectForBody(trimmed) : undefined) ?? numberOf(trimmed)
}

/** A field for the value, by the type of its entitlement. Without a type any value can be typed. */
export const GrantValueField = ({
  error,
  onChange,
  type,
  value,
}: {
  readonly type: Entitlement["type"] | undefined
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
}) => {
  const field = { label: t.value.title, value, onChange, error }
  if (type === "BOOLEAN") {
    return (
      <SelectField
        {...field}
        choices={[
          { id: "true", title: t.value.yes },
          { id: "false", title: t.value.no },
        ]}
      />
    )
  }
  if (type === "CONFIG") return <TextField {...field} kind="lines" isCode isRequired hint={t.value.configHint} />
  if (type === undefined) return <TextField {...field} isRequired hint={t.value.anyHint} />
  const isUnlimited = value.trim() === UNLIMITED
  return (
    <div className="stack">
      <TextField {...field} kind="decimal" isRequired isReadOnly={isUnlimited} />
      <CheckField
        label={t.value.unlimited}
        isSelected={isUnlimited}
        onChange={(isNow) => onChange(isNow ? UNLIMITED : "")}
      />
    </div>
  )
}
