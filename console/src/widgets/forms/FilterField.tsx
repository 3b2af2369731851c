/** A filter that stands in the URL. It is applied while typing, a moment after the last key. */
import { useEffect, useState } from "react"
import { useUrl } from "../../kernel/Url.ts"
import { TextField } from "./Fields.tsx"

const QUIET_MS = 250

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
