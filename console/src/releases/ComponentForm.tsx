/** Creates a component, or the next version of one. */
import { useState } from "react"
import type { Component } from "../kernel/Contract.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { PickField } from "../widgets/forms/Pick.tsx"
import { nameOf, useComponents } from "./Lists.ts"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "version", "slug", "description", "previousComponentId"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

export const ComponentForm = ({
  onClose,
  onCreated,
  previous,
}: {
  /** The version that the new one replaces. */
  readonly previous?: Component
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>({
    name: previous?.name ?? "",
    version: "",
    slug: "",
    description: previous?.description ?? "",
    previousComponentId: previous?.id ?? "",
  })
  const components = useComponents()
  const write = useWrite("POST /api/components", {
    stale: ["/api/components"],
    done: ({ slug }) => onCreated(slug),
  })
  const field = fieldsOf(values, setValues, write.error)
  return (
    <FormDialog
      title={previous === undefined ? t.createComponent : t.newVersion}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({
            name: values.name,
            version: values.version,
            slug: orUndefined(values.slug),
            description: orNull(values.description),
            previousComponentId: orNull(values.previousComponentId),
          }),
        })
      }
    >
      <div className="form-row">
        <TextField label={common.common.name} isRequired autoFocus={previous === undefined} {...field("name")} />
        <TextField label={t.version} isRequired autoFocus={previous !== undefined} {...field("version")} />
      </div>
      <TextField label={common.common.slug} hint={t.slugFromBoth} isCode {...field("slug")} />
      <TextField label={common.common.description} {...field("description")} />
      <PickField
        label={t.previous}
        hint={t.previousHint}
        choices={(components.rows ?? []).map((one) => ({ id: one.id, title: nameOf(one) }))}
        {...field("previousComponentId")}
      />
    </FormDialog>
  )
}
