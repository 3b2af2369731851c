/** A secret that the service shows once. It is never kept: it is gone when the dialog closes. */
import { useState } from "react"
import { t } from "../kernel/texts.en.ts"
import { Button } from "./Button.tsx"
import { CopyButton } from "./Copy.tsx"
import { Dialog, DialogActions } from "./Dialog.tsx"
import { CheckField } from "./forms/Fields.tsx"

interface ShownSecret {
  readonly title: string
  readonly value: string
  readonly hint: string
}

export const SecretDialog = ({ onClose, secret }: { readonly secret: ShownSecret; readonly onClose: () => void }) => {
  const [stored, setStored] = useState(false)
  return (
    <Dialog title={secret.title} isOpen onClose={onClose} isDismissable={false}>
      <p>{secret.hint}</p>
      <div className="secret">
        <input
          readOnly
          aria-label={secret.title}
          value={secret.value}
          className="input mono"
          onFocus={(event) => event.target.select()}
        />
        <CopyButton text={secret.value} />
      </div>
      <CheckField label={t.common.stored} isSelected={stored} onChange={setStored} />
      <DialogActions>
        <Button look="primary" isDisabled={!stored} onPress={onClose}>
          {t.common.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
