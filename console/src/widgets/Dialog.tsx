/** Modal dialogs. The focus goes back to where it was when one closes. */
import { X } from "lucide-react"
import type { ReactNode } from "react"
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components"
import { IconButton } from "./Button.tsx"
import { t } from "../kernel/texts.en.ts"

interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  readonly wide?: boolean
  /** Whether Escape closes it. A secret is closed only on purpose. */
  readonly isDismissable?: boolean
}

export const Dialog = ({ children, isDismissable = true, isOpen, onClose, title, wide = false }: DialogProps) => (
  <ModalOverlay
    className="overlay"
    isOpen={isOpen}
    isKeyboardDismissDisabled={!isDismissable}
    onOpenChange={(open) => {
      if (!open) onClose()
    }}
  >
    <Modal className={wide ? "modal wide" : "modal"}>
      <AriaDialog className="dialog">
        <header className="dialog-head">
          <Heading slot="title">{title}</Heading>
          {isDismissable && <IconButton icon={<X aria-hidden size={16} />} label={t.common.close} onPress={onClose} />}
        </header>
        {children}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
)

/** The row of buttons at the end of a dialog. */
export const DialogActions = ({ children }: { readonly children: ReactNode }) => (
  <footer className="dialog-actions">{children}</footer>
)
