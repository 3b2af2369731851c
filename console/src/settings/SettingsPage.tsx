/** Who is signed in and may do what, how this browser shows the console, and the signing keys for administrators. */
import { config } from "../kernel/Config.ts"
import { words } from "../kernel/Formats.ts"
import { setPreferences, usePreferences } from "../kernel/Preferences.ts"
import type { Theme } from "../kernel/Preferences.ts"
import { useCan, useIsAdmin } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CheckField, Segments } from "../widgets/forms/Fields.tsx"
import { Facts, PageHead, Section } from "../widgets/Page.tsx"
import { Code } from "../widgets/Tag.tsx"
import { SigningKeys } from "./SigningKeys.tsx"
import { t } from "./texts.en.ts"

const themes = ["system", "light", "dark"] as const satisfies ReadonlyArray<Theme>

const Appearance = () => {
  const { letters, theme } = usePreferences()
  return (
    <Section title={t.appearance}>
      <div className="inline">
        <span aria-hidden>{t.theme}</span>
        <Segments
          label={t.theme}
          value={theme}
          onChange={(id) => setPreferences({ theme: themes.find((one) => one === id) ?? "system" })}
          choices={themes.map((id) => ({ id, title: common.app.theme[id] }))}
        />
      </div>
      <CheckField label={t.letters} isSelected={letters} onChange={(isOn) => setPreferences({ letters: isOn })} />
      <p className="muted">{t.lettersHint}</p>
    </Section>
  )
}

export const Page = () => {
  const { me, scopes } = useSession()
  const readsKeys = useCan("read:organizations") && config().surface === "core"
  const isAdmin = useIsAdmin()
  if (me === undefined) return null
  return (
    <>
      <PageHead title={t.title} />
      <Section title={t.me}>
        <Facts
          items={[
            [t.name, me.identity.name],
            [t.role, me.role === null ? null : words(me.role)],
            [t.organization, "organization" in me ? me.organization.name : null],
            [t.credential, me.credential.name],
          ]}
        />
        <h3>{t.scopes}</h3>
        <ul className="tokens">
          {scopes.map((scope) => (
            <li key={scope}>
              <Code>{scope}</Code>
            </li>
          ))}
        </ul>
      </Section>
      <Appearance />
      {readsKeys && (isAdmin ? <SigningKeys /> : <p className="muted">{t.adminsOnly}</p>)}
    </>
  )
}
