import { type ReactNode, useEffect, useRef, useState } from 'react'
import { keepToken } from './api/token.ts'
import { clockDiffers } from './clock.ts'
import { GoTo } from './go-to.tsx'
import { KeyHelp } from './key-help.tsx'
import { type Line, listenToServer, useLive } from './live.ts'
import { useKeys } from './parts/keys.tsx'
import { Link } from './parts/link.tsx'
import { go, usePlace } from './route.ts'
import { applyTheme, theme, themes } from './theme.ts'

const pages = [
  ['/', 'Sessions', 's'],
  ['/inbox', 'Inbox', 'i'],
  ['/p', 'Plans', 'p'],
  ['/goals', 'Goals', 'o'],
  ['/machines', 'Machines', 't'],
  ['/audit', 'Audit', 'a'],
] as const

/** The frame of every page. */
export function Frame({ children }: { children: ReactNode }) {
  const { path } = usePlace()
  const { inbox, line } = useLive()
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${inbox.length > 0 ? `(${inbox.length}) ` : ''}Statewright`
  }, [inbox.length])
  useKeys(
    Object.fromEntries(
      pages.map(([to, name, key]) => [`g ${key}`, { says: `go to ${name.toLowerCase()}`, does: () => go(to) }]),
    ),
  )
  const isHere = (to: string) => (to === '/' ? path === '/' || path.startsWith('/s') : path.startsWith(to))
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header className="top">
        <Link href="/" className="brand">
          Statewright
        </Link>
        <nav aria-label="Pages">
          <ul>
            {pages.map(([to, name, key]) => (
              <li key={to}>
                <Link href={to} aria-current={isHere(to) ? 'page' : undefined} title={`${name} (g ${key})`}>
                  {name}
                  {name === 'Inbox' && inbox.length > 0 && (
                    <span className="badge">
                      {inbox.length}
                      <span className="unseen"> waiting</span>
                    </span>
                  )}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="tools">
          <GoTo />
          <LineBadge line={line} />
          <ThemeChoice />
          <KeyHelp />
        </div>
      </header>
      <p className="unseen" role="status" aria-live="polite">
        {inbox.length === 0 ? '' : `${inbox.length} waiting for a person`}
      </p>
      <main id="main" tabIndex={-1} ref={main}>
        {line === 'refused' ? <AskForToken /> : children}
      </main>
    </div>
  )
}

const lines: { readonly [L in Line]: string } = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'No access',
}

function LineBadge({ line }: { line: Line }) {
  return (
    <span
      className={`line is-${line}`}
      role="status"
      title={clockDiffers() ? 'Times are the server’s; this clock differs.' : ''}
    >
      <span aria-hidden="true">{line === 'live' ? '●' : '○'}</span> {lines[line]}
    </span>
  )
}

function ThemeChoice() {
  const [chosen, setChosen] = useState(theme)
  return (
    <select
      aria-label="Colours"
      value={chosen}
      onChange={({ target }) => {
        const next = themes.find((each) => each === target.value) ?? 'system'
        applyTheme(next)
        setChosen(next)
      }}
    >
      <option value="system">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  )
}

/** The page has no token, or one that the server does not know. */
function AskForToken() {
  const [given, setGiven] = useState('')
  return (
    <form
      className="empty"
      onSubmit={(event) => {
        event.preventDefault()
        keepToken(given.trim())
        location.reload()
      }}
    >
      <h1>The server wants a token</h1>
      <p>
        Open the link that <code>statewright serve</code> printed when it started, or paste the token from its token
        file. It stays in this tab.
      </p>
      <label>
        Token
        <input type="password" autoComplete="off" value={given} onChange={({ target }) => setGiven(target.value)} />
      </label>
      <div className="row">
        <button type="submit" className="primary" disabled={given.trim() === ''}>
          Use it
        </button>
        <button type="button" onClick={() => void listenToServer()}>
          Try again
        </button>
      </div>
    </form>
  )
}
