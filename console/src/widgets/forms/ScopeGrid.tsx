/** The scopes of a token as a grid. What the caller does not hold cannot be given, so it is disabled. */
import { words } from "../../kernel/Formats.ts"
import { allows } from "../../kernel/Scopes.ts"
import type { Action, Module, Scope } from "../../kernel/Scopes.ts"
import { useSession } from "../../kernel/Session.ts"
import { Button } from "../Button.tsx"
import { CheckField } from "./Fields.tsx"
import { t } from "./texts.en.ts"

/** What the scopes of a kind of token are made of. */
export interface ScopeKinds<S extends Scope> {
  readonly actions: ReadonlyArray<Action>
  readonly modules: ReadonlyArray<Module>
  /** Scopes that are chosen together. */
  readonly presets: ReadonlyArray<{ readonly title: string; readonly scopes: ReadonlyArray<S> }>
}

export const ScopeGrid = <S extends Scope>({
  chosen,
  error,
  kinds: { actions, modules, presets },
  onChange,
}: {
  readonly kinds: ScopeKinds<S>
  readonly chosen: ReadonlyArray<S>
  readonly onChange: (scopes: ReadonlyArray<S>) => void
  readonly error: string | undefined
}) => {
  const { scopes: held } = useSession()
  const rows: ReadonlyArray<Module | "*"> = ["*", ...modules]
  // The actions and modules of a kind make scopes of that kind.
  const scopeOf = (action: Action, row: Module | "*") => `${action}:${row}` as S
  const titleOf = (row: Module | "*") => (row === "*" ? t.allModules : words(row))
  const set = (row: Module | "*", action: Action, isSelected: boolean) => {
    const scope = scopeOf(action, row)
    const read = scopeOf("read", row)
    // A write includes the read: the read goes with it, and is left without it.
    const others = chosen.filter((one) => one !== scope && !(action === "write" && one === read))
    if (isSelected) onChange([...others, scope])
    else onChange(action === "write" ? [...others, read] : others)
  }
  return (
    <fieldset className="scopes">
      <legend className="label">{t.scopes}</legend>
      <div className="actions" role="group" aria-label={t.presets}>
        {presets.map(({ scopes, title }) => (
          <Button
            key={title}
            look="quiet"
            isDisabled={!scopes.every((scope) => allows(held, scope))}
            onPress={() => onChange(scopes)}
          >
            {title}
          </Button>
        ))}
      </div>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.module}</th>
            {actions.map((action) => (
              <th key={action} scope="col">
                {words(action)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row">{titleOf(row)}</th>
              {actions.map((action) => {
                const scope = scopeOf(action, row)
                // Another chosen scope may include this one: a write includes the read, all modules include each.
                const isIncluded = allows(
                  chosen.filter((one) => one !== scope),
                  scope,
                )
                return (
                  <td key={action}>
                    <CheckField
                      label={<span className="visually-hidden">{t.scopeOf(words(action), titleOf(row))}</span>}
                      isSelected={isIncluded || chosen.includes(scope)}
                      isDisabled={isIncluded || !allows(held, scope)}
                      onChange={(isSelected) => set(row, action, isSelected)}
                    />
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="hint">{t.notHeld}</p>
      {!actions.includes("delete") && <p className="hint">{t.writeDeletes}</p>}
      {chosen.length === 0 && <p className="muted">{t.noScopes}</p>}
      {error !== undefined && <p className="field-error">{error}</p>}
    </fieldset>
  )
}
