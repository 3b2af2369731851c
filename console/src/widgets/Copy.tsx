/** Copies text, and announces it once. */
import { Check, Copy as CopyIcon } from "lucide-react"
import { useState } from "react"
import { t } from "../kernel/texts.en.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button, IconButton } from "./Button.tsx"

const useCopy = (text: string) => {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    announce(t.common.copied)
  }
  return { copied, copy: () => void copy().catch(() => announce(t.common.notCopied)) }
}

/** A small button that copies a text. */
export const Copy = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const { copied, copy } = useCopy(text)
  return (
    <IconButton
      icon={copied ? <Check aria-hidden size={14} /> : <CopyIcon aria-hidden size={14} />}
      label={label}
      onPress={copy}
    />
  )
}

/** A button with text that copies. */
export const CopyButton = ({ text }: { readonly text: string }) => {
  const { copied, copy } = useCopy(text)
  return (
    <Button icon={copied ? <Check aria-hidden size={14} /> : <CopyIcon aria-hidden size={14} />} onPress={copy}>
      {copied ? t.common.copied : t.common.copy}
    </Button>
  )
}
