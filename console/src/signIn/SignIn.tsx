/** Sign-in: by the OpenID provider, or with a pasted credential. */
import { LogIn } from "lucide-react"
import { useState } from "react"
import { Problem } from "../kernel/Api.ts"
import { config } from "../kernel/Config.ts"
import { begin, SignInRefused } from "../kernel/OpenId.ts"
import { signInWithToken, signOut } from "../kernel/Session.ts"
import type { Ended } from "../kernel/Session.ts"
import { Button } from "../widgets/Button.tsx"
import { Dialog } from "../widgets/Dialog.tsx"
import { Segments, TextField } from "../widgets/forms/Fields.tsx"
import { Failure } from "../widgets/States.tsx"
import { t } from "./texts.en.ts"

/** What is wrong with the pasted text, in words. */
const messageOf = (error: unknown, kind: "token" | "platform"): string | undefined => {
  if (!(error instanceof Problem)) return undefined
  if (error.detail === "wrong-kind") return t.wrongKind[kind]
  if (error.detail === "not-a-token") return t.notAToken[kind]
  return error.status === 401 ? t.refused : undefined
}

/** How long a pasted token is kept: until the tab is closed, or until the page is reloaded. */
type Kept = "tab" | "page"

const keptChoices = [
  { id: "tab", title: t.kept.tab },
  { id: "page", title: t.kept.page },
]

const TokenForm = ({ onSignedIn }: { readonly onSignedIn?: () => void }) => {
  const kind = config().surface === "platform" ? "platform" : "token"
  const [text, setText] = useState("")
  const [kept, setKept] = useState<Kept>("tab")
  const [error, setError] = useState<unknown>()
  const [isPending, setPending] = useState(false)
  const submit = async () => {
    setPending(true)
    setError(undefined)
    try {
      await signInWithToken(text, kept === "tab")
      setText("")
      onSignedIn?.()
    } catch (failure) {
      setError(failure)
    }
    setPending(false)
  }
  const message = messageOf(error, kind)
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!isPending) void submit()
      }}
    >
      <TextField
        kind="password"
        isCode
        label={kind === "platform" ? t.credential : t.token}
        hint={kind === "platform" ? t.credentialHint : t.tokenHint}
        value={text}
        onChange={setText}
        error={message}
        autoFocus
      />
      {kind === "token" && (
        <div className="field">
          <span className="label" aria-hidden>
            {t.keep}
          </span>
          <Segments
            label={t.keep}
            value={kept}
            onChange={(id) => setKept(id === "page" ? "page" : "tab")}
            choices={keptChoices}
          />
          <p className="hint">{t.keptHint[kept]}</p>
        </div>
      )}
      {error !== undefined && message === undefined && <Failure error={error} />}
      <Button type="submit" look={config().oidc === null ? "primary" : "normal"} isPending={isPending}>
        {t.signIn}
      </Button>
    </form>
  )
}

const ProviderButton = () => {
  const { oidc } = config()
  const [error, setError] = useState<unknown>()
  if (oidc === null) return null
  return (
    <>
      <Button
        look="primary"
        icon={<LogIn aria-hidden size={16} />}
        onPress={() => void begin(oidc, location.pathname + location.search).catch(setError)}
      >
        {t.withProvider}
      </Button>
      {error !== undefined && <Failure error={error} />}
      <p className="or">{t.or}</p>
    </>
  )
}

/** Why the sign-in with the provider failed. */
const ProviderFailure = ({ error }: { readonly error: unknown }) => {
  if (error instanceof SignInRefused) {
    const { code, description } = error
    const explained = code === "access_denied" ? t.denied : t.providerFailed
    const said = description === undefined || description === "" ? "" : ` ${t.providerSaid(description)}`
    return <Failure error={new Problem(0, code, t.failed, explained + said)} />
  }
  if (!(error instanceof Problem)) {
    const detail = error instanceof Error ? error.message : String(error)
    return <Failure error={new Problem(0, "Console.SignIn", t.failed, `${detail} ${t.tryAgain}`.trim())} />
  }
  const explained = error.code === "Auth.NotAMember" ? t.notAMember : error.status === 401 ? t.opaque : error.detail
  return <Failure error={new Problem(0, error.code, t.failed, explained)} />
}

/** The page that replaces the console while no one is signed in. */
export const SignInPage = ({ ended, failure }: { readonly ended: Ended; readonly failure: unknown }) => (
  <main className="sign-in">
    <div className="sign-in-box">
      <h1>{config().surface === "platform" ? t.operatorTitle : t.title}</h1>
      {t.ended[ended] !== "" && (
        <p className="sign-in-note" role="status">
          {t.ended[ended]}
        </p>
      )}
      {failure !== undefined && ended === "never" && <ProviderFailure error={failure} />}
      <ProviderButton />
      <TokenForm />
      <p className="hint">{t.version(config().version)}</p>
    </div>
  </main>
)

/** The sign-in over a page whose credential has expired. */
export const SignInDialog = ({ onSignedIn }: { readonly onSignedIn: () => void }) => (
  <Dialog title={t.again} isOpen onClose={() => undefined} isDismissable={false}>
    <p>{t.againHint}</p>
    <ProviderButton />
    <TokenForm onSignedIn={onSignedIn} />
    <Button look="quiet" onPress={() => void signOut()}>
      {t.signOutInstead}
    </Button>
  </Dialog>
)
