/** Creates a release out of components. */
import { useState } from "react"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { PickField } from "../widgets/forms/Pick.tsx"
import { nameOf, useComponents } from "./Lists.ts"
import { t } from "./texts.en.ts"

const FIELDS = ["version", "slug", "description", "componentIds"] as const
type Values = Readonly<Record<"version" | "slug" | "description", string>>

interface Part extends Line {
  readonly id: string
  readonly title: string
}

export const ReleaseForm = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>({ version: "", slug: "", description: "" })
  const [parts, setParts] = useState<ReadonlyArray<Part>>([])
  const mayChoose = useCan("read:components")
  const components = useComponents().rows ?? []
  const write = useWrite("POST /api/releases", { stale: ["/api/releases"], done: ({ slug }) => onCreated(slug) })
  const field = fieldsOf(values, setValues, write.error)
  const add = (id: string) => {
    const found = components.find((one) => one.id === id)
    if (found !== undefined) setParts([...parts, newLine({ id, title: nameOf(found) })])
  }
  return (
    <FormDialog
      title={t.createRelease}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({
            version: values.version,
            slug: orUndefined(values.slug),
            description: orNull(values.description),
            componentIds: parts.map(({ id }) => id),
          }),
        })
      }
    >
      <p className="muted">{t.immutable}</p>
      <TextField label={t.version} isRequired autoFocus {...field("version")} />
      <TextField label={common.common.slug} hint={t.slugFromVersion} isCode {...field("slug")} />
      <TextField label={common.common.description} {...field("description")} />
      {mayChoose && (
        <>
          <ListField
            label={t.components}
            rows={parts}
            onChange={setParts}
            nameOf={({ title }) => title}
            error={errorAt(write.error, "componentIds")}
            isOrdered
          >
            {({ title }) => <span>{title}</span>}
          </ListField>
          <PickField
            // A new field after each choice: the chosen one is in the list.
            key={parts.length}
            label={t.pickComponent}
            hint={t.pickHint}
            value=""
            onChange={add}
            autoFocus={parts.length > 0}
            choices={components
              .filter(({ id }) => parts.every((part) => part.id !== id))
              .map((one) => ({ id: one.id, title: nameOf(one) }))}
          />
        </>
      )}
    </FormDialog>
  )
}
