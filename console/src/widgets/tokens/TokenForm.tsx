/** Asks for a new token or credential: its name, its end and its scopes. */
import { useState } from "react"
import { orNull } from "../../kernel/Inputs.ts"
import type { Scope } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { TextField } from "../forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../forms/Form.tsx"
import type { FormDialogProps } from "../forms/Form.tsx"
import { MomentField } from "../forms/MomentField.tsx"
import { ScopeGrid } from "../forms/ScopeGrid.tsx"
import type { ScopeKinds } from "../forms/ScopeGrid.tsx"
import { UnseenSecret } from "./Tokens.tsx"

/** What was typed, as the body of the request. */
interface NewToken<S> {
  readonly name: string
  readonly scopes: ReadonlyArray<S>
  readonly expiresAt: string | null
}

export const TokenForm = <S extends Scope>({
  expiresHint,
  kinds,
  onSubmit,
  write,
  ...dialog
}: Pick<FormDialogProps, "title" | "submit" | "onClose" | "write"> & {
  readonly kinds: ScopeKinds<S>
  readonly expiresHint: string
  readonly onSubmit: (token: NewToken<S>) => void
}) => {
  const [values, setValues] = useState<{
    readonly name: string
    readonly expiresAt: string
    readonly scopes: ReadonlyArray<S>
  }>({ name: "", expiresAt: "", scopes: [] })
  const field = fieldsOf(values, setValues, write.error)
  const { error, onChange, value: chosen } = field("scopes")
  return (
    <FormDialog
      {...dialog}
      fields={["name", "scopes", "expiresAt"]}
      write={write}
      isDisabled={chosen.length === 0}
      onSubmit={() => onSubmit({ ...values, expiresAt: orNull(values.expiresAt) })}
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <MomentField label={common.common.expires} hint={expiresHint} {...field("expiresAt")} />
      <ScopeGrid kinds={kinds} chosen={chosen} onChange={onChange} error={error} />
      <UnseenSecret error={write.error} />
    </FormDialog>
  )
}
