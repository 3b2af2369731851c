/** What a new organization does first. Each step is ticked as soon as it is true. */
import { Circle, CircleCheck } from "lucide-react"
import { useState } from "react"
import type { Overview } from "../kernel/Contract.ts"
import { useChange, useRows } from "../kernel/Queries.ts"
import { allows } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { Button } from "../widgets/Button.tsx"
import { Command, CurlDetails } from "../widgets/forms/AsCurl.tsx"
import { Section } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { Failure } from "../widgets/States.tsx"
import { createDemo, steps } from "./Steps.ts"
import { t } from "./texts.en.ts"

type SetUp = Overview["setUp"]

/** Whether the organization is not set up yet: a step is missing, and it has at most one customer and one active instance. */
export const isNew = ({ activeInstances, customers, setUp }: Overview): boolean =>
  Object.values(setUp).some((isTaken) => !isTaken) && (customers?.count ?? 0) <= 1 && activeInstances.count <= 1

/** The slug of the newest instance, for the steps that are about one. */
const useInstance = (setUp: SetUp): string | undefined => {
  const { rows } = useRows("GET /api/instances", {}, { pageSize: "1", when: setUp.instance })
  return rows?.[0]?.slug
}

/** The button that takes all steps with records that can be deleted again. */
const Demo = ({ onIssued }: { readonly onIssued: (token: string) => void }) => {
  const [run] = useState(createDemo)
  const demo = useChange<string, void>(run, { done: onIssued })
  return (
    <>
      <p>{t.demoText}</p>
      {demo.error !== null && <Failure error={demo.error} />}
      <div className="actions">
        <Button isPending={demo.isPending} onPress={() => demo.mutate()}>
          {t.loadDemo}
        </Button>
      </div>
    </>
  )
}

export const FirstSteps = ({ setUp }: { readonly setUp: SetUp }) => {
  const instance = useInstance(setUp)
  const { scopes } = useSession()
  const mayCreate = steps.every(({ scope }) => allows(scopes, scope))
  const [isOffered] = useState(!Object.values(setUp).some((isTaken) => isTaken))
  const [token, setToken] = useState<string>()
  const next = steps.find(({ name }) => !setUp[name])?.name
  return (
    <Section title={t.firstSteps}>
      <p>{t.firstStepsText}</p>
      <ol className="first-steps">
        {steps.map(({ commands, form, name, scope }) => {
          const { text, title, way } = t.steps[name]
          return (
            <li key={name} aria-current={name === next ? "step" : undefined}>
              {setUp[name] ? <CircleCheck aria-hidden size={20} className="ok" /> : <Circle aria-hidden size={20} />}
              <div>
                <h3>
                  {title}
                  {setUp[name] && <span className="visually-hidden">, {t.done}</span>}
                </h3>
                <p>{text}</p>
                {!setUp[name] && (
                  <>
                    {allows(scopes, scope) && (
                      <ListLink {...form(instance)} className="button">
                        {way}
                      </ListLink>
                    )}
                    <CurlDetails>
                      {commands(instance).map((command) => (
                        <Command key={command} text={command} />
                      ))}
                    </CurlDetails>
                  </>
                )}
              </div>
            </li>
          )
        })}
      </ol>
      {isOffered && mayCreate && token === undefined && next !== undefined && <Demo onIssued={setToken} />}
      {token !== undefined && token !== "" && (
        <SecretDialog secret={{ title: t.demoKey, hint: t.demoKeyHint, value: token }} onClose={() => setToken("")} />
      )}
    </Section>
  )
}
