/** The dialogs that create and change a kind of record, made of its fields. */
import { useState } from "react"
import type { ComponentType } from "react"
import type { Answer, Operation, Request } from "../../kernel/Contract.ts"
import { useRecordForm } from "../../kernel/forms/Update.ts"
import type { UpdateOptions } from "../../kernel/forms/Update.ts"
import { useWrite } from "../../kernel/Queries.ts"
import { t } from "../../kernel/texts.en.ts"
import { TextField } from "./Fields.tsx"
import { fieldsOf, FormDialog } from "./Form.tsx"

/** What a field takes. */
export interface FieldInput {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
}

/** A field for text, by its name in the body: a line of text, or the field that replaces it. */
type FormField<N extends string> = {
  readonly name: N
  /** Whether it is only there for a new record, or for a stored one. */
  readonly isOf?: "new" | "stored"
} & (
  | { readonly label: string; readonly hint?: string; readonly isRequired?: boolean; readonly isCode?: boolean }
  | { readonly Field: ComponentType<FieldInput> }
)

export const nameField = { name: "name", label: t.common.name, isRequired: true } as const
export const slugField = {
  name: "slug",
  label: t.common.slug,
  hint: t.common.slugHint,
  isCode: true,
  isOf: "new",
} as const
export const descriptionField = { name: "description", label: t.common.description } as const

type Values<N extends string> = Readonly<Record<N, string>>

export const recordForm = <
  N extends string,
  R extends object,
  B extends object,
  C extends Operation,
  U extends Operation,
>({
  change,
  create,
  fields,
  stale,
  valuesOf,
}: {
  /** The first one has the focus. */
  readonly fields: ReadonlyArray<FormField<N>>
  /** What is in the fields, of a record or of a new one. */
  readonly valuesOf: (record: R | undefined) => Values<N>
  readonly create: {
    readonly operation: C
    readonly title: string
    readonly requestOf: (values: Values<N>) => Request<C>
    /** What the page of the new record is opened by. */
    readonly nameOf: (created: Answer<C>) => string
  }
  readonly change: {
    readonly operation: U
    readonly titleOf: (record: R) => string
    readonly bodyOf: (values: Values<N>) => B
    readonly updateOf: (record: R) => Pick<UpdateOptions<U, R, Partial<B>>, "read" | "request">
  }
  readonly stale: ReadonlyArray<string>
}) => {
  const fieldsFor = (isNew: boolean) =>
    fields.filter(({ isOf }) => isOf === undefined || isOf === (isNew ? "new" : "stored"))
  const namesFor = (isNew: boolean) => fieldsFor(isNew).map(({ name }) => name)

  const Fields = ({
    error,
    isNew,
    onChange,
    values,
  }: {
    readonly values: Values<N>
    readonly onChange: (values: Values<N>) => void
    readonly error: unknown
    readonly isNew: boolean
  }) => {
    const inputOf = fieldsOf(values, onChange, error)
    return fieldsFor(isNew).map(({ isOf: _, name, ...look }, index) =>
      "Field" in look ? (
        <look.Field key={name} {...inputOf(name)} />
      ) : (
        <TextField key={name} autoFocus={index === 0} {...look} {...inputOf(name)} />
      ),
    )
  }

  const Create = ({
    onClose,
    onCreated,
  }: {
    readonly onClose: () => void
    readonly onCreated: (name: string) => void
  }) => {
    const [values, setValues] = useState(() => valuesOf(undefined))
    const write = useWrite(create.operation, { stale, done: (created) => onCreated(create.nameOf(created)) })
    return (
      <FormDialog
        title={create.title}
        submit={t.common.create}
        fields={namesFor(true)}
        onClose={onClose}
        write={write}
        onSubmit={() => write.mutate(create.requestOf(values))}
      >
        <Fields values={values} onChange={setValues} error={write.error} isNew />
      </FormDialog>
    )
  }

  const Edit = ({ onClose, record }: { readonly record: R; readonly onClose: () => void }) => {
    const { dialog, error, setValues, values } = useRecordForm<U, R, Values<N>, B>(change.operation, {
      record,
      valuesOf,
      bodyOf: change.bodyOf,
      ...change.updateOf(record),
      stale,
      done: onClose,
    })
    return (
      <FormDialog
        title={change.titleOf(record)}
        submit={t.common.save}
        fields={namesFor(false)}
        onClose={onClose}
        {...dialog}
      >
        <Fields values={values} onChange={setValues} error={error} isNew={false} />
      </FormDialog>
    )
  }
  return { Create, Edit }
}
