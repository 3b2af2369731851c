/** A filter that stands in the URL. It is applied while typing, a moment after the last key. */
import { useEffect, useState } from "react"
import { TextField } from "./Fields.tsx"

const QUIET_MS = 250

export const FilterField = ({
  label,
  onChange,
  value,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) => {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return undefined
    const timer = setTimeout(() => onChange(text), QUIET_MS)
    return () => clearTimeout(timer)
  }, [onChange, text, value])
  return (
    <div data-filter>
      <TextField kind="search" label={label} value={text} onChange={setText} />
    </div>
  )
}
