/** The frame of every screen: navigation by scopes, search, and the account. */
import { Link, Outlet, useMatches, useRouterState } from "@tanstack/react-router"
import { CircleQuestionMark, LogOut, Menu as MenuIcon, Search } from "lucide-react"
import { lazy, Suspense, useEffect, useState } from "react"
import { config } from "../kernel/Config.ts"
import { allows } from "../kernel/Scopes.ts"
import { signOut, useSession } from "../kernel/Session.ts"
import { t } from "../kernel/texts.en.ts"
import { Announcer } from "../widgets/Announcer.tsx"
import { IconButton } from "../widgets/Button.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { NotAllowed } from "../widgets/States.tsx"
import { coreNavigation, platformNavigation } from "./navigation.ts"
import { SearchPalette } from "./SearchPalette.tsx"
import { useShortcuts } from "./Shortcuts.ts"

// Loaded when it is opened, so that the first screen does not wait for it.
const HelpDialog = lazy(() => import("./HelpDialog.tsx"))

const Navigation = () => {
  const { scopes } = useSession()
  const groups = config().surface === "platform" ? platformNavigation : coreNavigation
  return (
    <nav aria-label={t.app.navigation} className="nav">
      {groups.map(({ entries, title }) => {
        const open = entries.filter(({ scope }) => scope === undefined || allows(scopes, scope))
        if (open.length === 0) return null
        return (
          <div key={title}>
            {title !== "" && <div className="nav-group">{title}</div>}
            <ul>
              {open.map(({ icon: Icon, title: name, to }) => (
                <li key={to}>
                  <Link to={to}>
                    <Icon aria-hidden size={16} />
                    {name}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

const Account = ({ onHelp }: { readonly onHelp: () => void }) => {
  const { me } = useSession()
  if (me === undefined) return null
  return (
    <div className="side-foot">
      <div className="who" title={me.identity.name}>
        {me.identity.name}
        <small>{me.role ?? me.credential.name}</small>
      </div>
      <IconButton icon={<CircleQuestionMark aria-hidden size={16} />} label={t.app.help} onPress={onHelp} />
      <IconButton icon={<LogOut aria-hidden size={16} />} label={t.app.signOut} onPress={() => void signOut()} />
    </div>
  )
}

/** The screen, unless the caller may not read it. */
const Content = () => {
  const { scopes } = useSession()
  const scope = useMatches().at(-1)?.staticData.scope
  if (scope === undefined || allows(scopes, scope)) return <Outlet />
  return (
    <>
      <PageHead title={t.states.notAllowed} />
      <NotAllowed scope={scope} />
    </>
  )
}

export const Shell = () => {
  const { me } = useSession()
  const [isSearching, setSearching] = useState(false)
  const [isHelping, setHelping] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(() => {
    setMenuOpen(false)
    setHelping(false)
  }, [path])
  useShortcuts({ search: () => setSearching(true), help: () => setHelping(true) })
  const organization = me !== undefined && "organization" in me ? me.organization.name : t.app.operator
  const isCore = config().surface === "core"
  return (
    <div className={isMenuOpen ? "shell open" : "shell"}>
      <a href="#main" className="skip">
        {t.app.skip}
      </a>
      <header className="top-bar">
        <IconButton
          icon={<MenuIcon aria-hidden size={18} />}
          label={t.app.menu}
          onPress={() => setMenuOpen(!isMenuOpen)}
        />
        <strong>{t.app.title}</strong>
        {isCore && (
          <IconButton icon={<Search aria-hidden size={18} />} label={t.app.search} onPress={() => setSearching(true)} />
        )}
      </header>
      <aside className="side" aria-label={t.app.navigation}>
        <div className="brand">
          <strong>{t.app.title}</strong>
          <span>{organization}</span>
        </div>
        {isCore && (
          <button type="button" className="search-button" onClick={() => setSearching(true)}>
            <Search aria-hidden size={14} />
            {t.app.search}
            <kbd>Ctrl K</kbd>
          </button>
        )}
        <Navigation />
        <Account onHelp={() => setHelping(true)} />
      </aside>
      <main id="main" className="main" tabIndex={-1}>
        <Content />
      </main>
      {isSearching && <SearchPalette onClose={() => setSearching(false)} />}
      <Suspense fallback={null}>{isHelping && <HelpDialog onClose={() => setHelping(false)} />}</Suspense>
      <Announcer />
    </div>
  )
}
