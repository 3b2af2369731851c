/** Filters that stand in the URL. */
import { useEffect, useState } from "react"
import { t } from "../../kernel/texts.en.ts"
import { useUrl } from "../../kernel/Url.ts"
import { SelectField, TextField } from "./Fields.tsx"
import type { Choice } from "./Fields.tsx"

const QUIET_MS = 250

/** A text. It is applied while typing, a moment after the last key. */
export const FilterField = ({ label, name }: { readonly label: string; readonly name: string }) => {
  const [{ [name]: value = "" }, setUrl] = useUrl()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return undefined
    const timer = setTimeout(() => setUrl({ [name]: text }), QUIET_MS)
    return () => clearTimeout(timer)
  }, [name, setUrl, text, value])
  return (
    <div data-filter>
      <TextField kind="search" label={label} value={text} onChange={setText} />
    </div>
  )
}

/** A choice of a few known values, or all. */
export const FilterSelect = ({
  all = t.common.all,
  choices,
  label,
  name,
}: {
  readonly label: string
  readonly name: string
  readonly choices: ReadonlyArray<Choice>
  /** What stands for no filter. */
  readonly all?: string
}) => {
  const [{ [name]: value = "" }, setUrl] = useUrl()
  return (
    <SelectField
      label={label}
      value={choices.some(({ id }) => id === value) ? value : ""}
      onChange={(id) => setUrl({ [name]: id })}
      choices={[{ id: "", title: all }, ...choices]}
    />
  )
}
