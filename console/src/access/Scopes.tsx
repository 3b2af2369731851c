/** The scopes of a token as a grid. What the caller does not hold cannot be given, so it is disabled. */
import type { Body } from "../kernel/Contract.ts"
import { words } from "../kernel/Formats.ts"
import { allows, modules } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { Button } from "../widgets/Button.tsx"
import { CheckField } from "../widgets/forms/Fields.tsx"
import { t } from "./texts.en.ts"

export type TokenScope = Body<"POST /api/service-accounts/:serviceAccountSlug/tokens">["scopes"][number]

const rows = ["*", ...modules] as const
type Row = (typeof rows)[number]

const presets: Readonly<Record<keyof typeof t.preset, ReadonlyArray<TokenScope>>> = {
  readAll: ["read:*"],
  writeAll: ["write:*"],
  deploy: ["write:releases", "write:components", "write:deployment_zones"],
  none: [],
}

const presetNames = ["readAll", "writeAll", "deploy", "none"] as const

const titleOf = (row: Row): string => (row === "*" ? t.all : words(row))

export const ScopeGrid = ({
  chosen,
  error,
  onChange,
}: {
  readonly chosen: ReadonlyArray<TokenScope>
  readonly onChange: (scopes: ReadonlyArray<TokenScope>) => void
  readonly error: string | undefined
}) => {
  const { scopes: held } = useSession()
  const set = (row: Row, action: "read" | "write", isSelected: boolean) => {
    const others = chosen.filter((scope) => scope !== `${action}:${row}` && scope !== `read:${row}`)
    if (isSelected) onChange([...others, `${action}:${row}`])
    else onChange(action === "write" ? [...others, `read:${row}`] : others)
  }
  return (
    <fieldset className="scopes">
      <legend className="label">{t.scopes}</legend>
      <div className="actions" role="group" aria-label={t.presets}>
        {presetNames.map((name) => (
          <Button
            key={name}
            look="quiet"
            isDisabled={!presets[name].every((scope) => allows(held, scope))}
            onPress={() => onChange(presets[name])}
          >
            {t.preset[name]}
          </Button>
        ))}
      </div>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.module}</th>
            <th scope="col">{t.read}</th>
            <th scope="col">{t.write}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row">{titleOf(row)}</th>
              {(["read", "write"] as const).map((action) => {
                const scope = `${action}:${row}` as const
                // Another chosen scope may include this one: a write includes the read, all modules include each.
                const isIncluded = allows(
                  chosen.filter((one) => one !== scope),
                  scope,
                )
                return (
                  <td key={action}>
                    <CheckField
                      label={<span className="visually-hidden">{t.scopeOf(t[action], titleOf(row))}</span>}
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
      {error !== undefined && <p className="field-error">{error}</p>}
    </fieldset>
  )
}
