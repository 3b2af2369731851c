/** Filters that are part of the URL. */
import { useEffect, useState } from "react"
import { t } from "../../kernel/texts.en.ts"
import { useUrl } from "../../kernel/Url.ts"
import { SelectField, TextField } from "./Fields.tsx"
import type { Choice } from "./Fields.tsx"
import { MomentField } from "./MomentField.tsx"

const QUIET_MS = 250

/** What a filter holds. It is applied while typing, a moment after the last key. */
const useFilter = (name: string) => {
  const [{ [name]: value = "" }, setUrl] = useUrl()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return undefined
    const timer = setTimeout(() => setUrl({ [name]: text === "" ? undefined : text }), QUIET_MS)
    return () => clearTimeout(timer)
  }, [name, setUrl, text, value])
  return { value: text, onChange: setText }
}

interface FilterProps {
  readonly label: string
  readonly name: string
}

/** A text. */
export const FilterField = ({ label, name }: FilterProps) => (
  <div data-filter>
    <TextField kind="search" label={label} {...useFilter(name)} />
  </div>
)

/** A moment. An incomplete one leaves the filter as it is, and says so. */
export const FilterMoment = ({ label, name }: FilterProps) => (
  <MomentField label={label} isFilter {...useFilter(name)} />
)

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
  /** The label for no filter. */
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
