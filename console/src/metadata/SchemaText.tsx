/** A JSON Schema as text, with what the service found wrong in it. */
import { objectForBody } from "../kernel/Amount.ts"
import type { MetadataField } from "../kernel/Contract.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { errorsOf } from "../widgets/forms/Form.tsx"
import { t as form } from "../widgets/forms/texts.en.ts"
import { t } from "./texts.en.ts"

const PLACE = /^\/?body[./]jsonSchema/

/** The schema of a text; `undefined` if the text is not a JSON object. */
export const schemaOf = (text: string): MetadataField["jsonSchema"] | undefined => objectForBody(text)

/** The errors with their places in the schema. */
const errorText = (error: unknown): string | undefined => {
  const found = errorsOf(error).filter(({ location }) => PLACE.test(location))
  if (found.length === 0) return undefined
  return found.map(({ location, message }) => `${location.replace(PLACE, "")} ${message}`.trim()).join("; ")
}

export const SchemaText = ({
  error,
  isReadOnly = false,
  onChange,
  text,
}: {
  readonly text: string
  readonly onChange: (text: string) => void
  readonly error: unknown
  readonly isReadOnly?: boolean
}) => (
  <TextField
    kind="lines"
    isCode
    rows={16}
    label={t.schema}
    hint={t.schemaHint}
    isReadOnly={isReadOnly}
    value={text}
    onChange={onChange}
    error={schemaOf(text) === undefined ? form.notObject : errorText(error)}
  />
)
