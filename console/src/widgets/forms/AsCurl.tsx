/** What a form would send, as a command. */
import { useEffect, useState } from "react"
import type { ReactNode } from "react"
import { curlOf } from "../../kernel/forms/Curl.ts"
import type { Draft } from "../../kernel/forms/Curl.ts"
import { t } from "../../kernel/texts.en.ts"
import { CopyButton } from "../Copy.tsx"

/** A command that people can copy. */
export const Command = ({ text }: { readonly text: string }) => (
  <>
    <pre>{text}</pre>
    <CopyButton text={text} />
  </>
)

/** A command behind its title. */
export const CurlDetails = ({
  children,
  onToggle,
}: {
  readonly children: ReactNode
  readonly onToggle?: (isOpen: boolean) => void
}) => (
  <details className="curl" onToggle={(event) => onToggle?.(event.currentTarget.open)}>
    <summary>{t.curl.title}</summary>
    {children}
  </details>
)

/** The request of a form as it is filled in now. */
export const AsCurl = ({ draft }: { readonly draft: () => Draft | undefined }) => {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState<string>()
  // Each key draws the form again, and the command with it. The same text draws nothing.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useEffect(() => {
    if (!isOpen) return
    const drafted = draft()
    setText(drafted && curlOf(drafted.operation, drafted.request))
  })
  return (
    <CurlDetails onToggle={setOpen}>
      {text === undefined ? <p className="muted">{t.curl.nothing}</p> : <Command text={text} />}
    </CurlDetails>
  )
}
