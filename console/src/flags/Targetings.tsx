/** The targetings of a flag as sentences, in the order in which they are tried. */
import { Pencil, Plus, X } from "lucide-react"
import { useState } from "react"
import type { FeatureFlag } from "../kernel/Contract.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button, IconButton } from "../widgets/Button.tsx"
import { ConfirmDialog } from "../widgets/forms/Form.tsx"
import { moved, MoveButtons } from "../widgets/forms/Order.tsx"
import { Empty, Failure } from "../widgets/States.tsx"
import { sentenceOf } from "./Sentence.ts"
import { TargetingForm } from "./TargetingForm.tsx"
import { t } from "./texts.en.ts"
import { useUpdate } from "./Update.ts"
import type { Targeting } from "./Values.ts"

const RemoveTargeting = ({
  flag,
  name,
  onClose,
}: {
  readonly flag: FeatureFlag
  readonly name: string
  readonly onClose: () => void
}) => {
  const update = useUpdate(flag, onClose)
  return (
    <ConfirmDialog
      title={t.removeTargeting(name)}
      submit={common.common.remove}
      onClose={onClose}
      write={update}
      onConfirm={() => update.change({ targetings: flag.targetings.filter((one) => one.name !== name) })}
    >
      <p>{t.removeTargetingText}</p>
    </ConfirmDialog>
  )
}

const Rule = ({ targeting }: { readonly targeting: Targeting }) => {
  const sentence = sentenceOf(targeting)
  return (
    <div className="rule-text">
      <strong>{targeting.name}</strong>
      {sentence === undefined ? <pre>{JSON.stringify(targeting, null, 2)}</pre> : <span>{sentence}</span>}
    </div>
  )
}

const otherwiseOf = ({ defaultVariant, metadata }: FeatureFlag): string => {
  if (defaultVariant !== null) return t.otherwise(defaultVariant)
  const fallback = metadata["fallback_value"] ?? undefined
  return fallback === undefined ? t.otherwiseNothing : t.otherwiseFallback(JSON.stringify(fallback))
}

type Opened = { readonly kind: "add" } | { readonly kind: "edit" | "remove"; readonly name: string }

export const Targetings = ({ flag }: { readonly flag: FeatureFlag }) => {
  const { enabled, targetings } = flag
  const mayWrite = useCan("write:feature_flags")
  const [opened, setOpened] = useState<Opened>()
  const order = useUpdate(flag)
  const close = () => setOpened(undefined)
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened({ kind: "add" })}>
      {t.addTargeting}
    </Button>
  )
  return (
    <>
      {targetings.length === 0 ? (
        <Empty title={t.noTargetings} action={add}>
          {t.noTargetingsDetail}
        </Empty>
      ) : (
        <>
          <div className="tab-tools">
            <p className="muted">{enabled ? t.targetingsHint : t.isOff}</p>
            {add}
          </div>
          {order.error !== null && <Failure error={order.error} />}
          <ol className="rules" aria-label={t.targetings}>
            {targetings.map((targeting, index) => (
              <li key={targeting.name} className="rule">
                <span className="rule-number">{index + 1}.</span>
                <Rule targeting={targeting} />
                {mayWrite && (
                  <div className="list-buttons">
                    <MoveButtons
                      name={targeting.name}
                      index={index}
                      count={targetings.length}
                      onMove={(to) => order.change({ targetings: moved(targetings, index, to) })}
                    />
                    <IconButton
                      icon={<Pencil aria-hidden size={14} />}
                      label={t.editNamed(targeting.name)}
                      onPress={() => setOpened({ kind: "edit", name: targeting.name })}
                    />
                    <IconButton
                      icon={<X aria-hidden size={14} />}
                      label={common.common.removeRow(targeting.name)}
                      onPress={() => setOpened({ kind: "remove", name: targeting.name })}
                    />
                  </div>
                )}
              </li>
            ))}
          </ol>
          <p>{otherwiseOf(flag)}</p>
        </>
      )}
      {opened?.kind === "add" && <TargetingForm flag={flag} onClose={close} />}
      {opened?.kind === "edit" && <TargetingForm flag={flag} name={opened.name} onClose={close} />}
      {opened?.kind === "remove" && <RemoveTargeting flag={flag} name={opened.name} onClose={close} />}
    </>
  )
}
