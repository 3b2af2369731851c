/** The form of a schema, and what the service says about the value in it: nothing is stored. */
import { useEffect, useState } from "react"
import { parseForBody } from "../kernel/Amount.ts"
import { call } from "../kernel/Api.ts"
import type { Answer, MetadataField } from "../kernel/Contract.ts"
import { isReadable, valueOf } from "../kernel/forms/SchemaForm.ts"
import type { Field } from "../kernel/forms/SchemaForm.ts"
import { useCan } from "../kernel/Scopes.ts"
import { SchemaFields } from "../widgets/forms/SchemaFields.tsx"
import { Failure } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const QUIET_MS = 300

type Verdict = Answer<"POST /api/metadata-fields/:metadataFieldId/dry-run">

interface Outcome {
  readonly of: string
  readonly verdict?: Verdict
  readonly error?: unknown
}

/** Checks a value, a moment after the last key. An older check is aborted. */
const useVerdict = ({ id, updatedAt }: MetadataField, text: string | undefined): Outcome | undefined => {
  const [outcome, setOutcome] = useState<Outcome>()
  const of = `${updatedAt} ${text}`
  useEffect(() => {
    if (text === undefined) return undefined
    const aborted = new AbortController()
    const timer = setTimeout(() => {
      const request = { params: { metadataFieldId: id }, body: { value: parseForBody(text) } }
      call("POST /api/metadata-fields/:metadataFieldId/dry-run", request, { signal: aborted.signal }).then(
        (verdict) => setOutcome({ of, verdict }),
        (error: unknown) => {
          if (!aborted.signal.aborted) setOutcome({ of, error })
        },
      )
    }, QUIET_MS)
    return () => {
      clearTimeout(timer)
      aborted.abort()
    }
  }, [id, of, text])
  return text !== undefined && outcome?.of === of ? outcome : undefined
}

const Outcome = ({ outcome }: { readonly outcome: Outcome | undefined }) => {
  if (outcome === undefined) return <p className="muted">{t.checking}</p>
  const { error, verdict } = outcome
  if (verdict === undefined) return <Failure error={error} />
  return verdict.valid ? <Tag tone="ok">{t.valid}</Tag> : <Tag tone="danger">{t.invalid(verdict.errors.length)}</Tag>
}

export const TryOut = ({
  field,
  form,
  isSaved,
  isTyped,
  onChange,
}: {
  readonly field: MetadataField
  readonly form: Field
  /** Whether the form is that of the stored schema, by which the service checks. */
  readonly isSaved: boolean
  /** Whether a person typed something. */
  readonly isTyped: boolean
  readonly onChange: (form: Field) => void
}) => {
  const mayTry = useCan("write:metadata_fields")
  const value = isTyped && isReadable(form) ? valueOf(form) : undefined
  const text = value === undefined ? undefined : JSON.stringify(value)
  const outcome = useVerdict(field, mayTry && isSaved ? text : undefined)
  const note = !mayTry
    ? t.tryScope
    : !isSaved
      ? t.trySaved
      : !isReadable(form)
        ? t.unreadable
        : text === undefined
          ? t.noValue
          : undefined
  return (
    <>
      <p className="muted">{t.tryHint}</p>
      <SchemaFields
        field={form}
        onChange={onChange}
        errors={outcome?.verdict?.errors ?? []}
        at="body.value"
        label={field.label}
      />
      <div role="status">{note === undefined ? <Outcome outcome={outcome} /> : <p className="muted">{note}</p>}</div>
      {text !== undefined && (
        <pre tabIndex={0} role="region" aria-label={t.asJson}>
          {text}
        </pre>
      )}
    </>
  )
}
