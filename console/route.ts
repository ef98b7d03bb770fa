import { useSyncExternalStore } from 'react'

/** The address of the page, filters and selections included. */
interface Place {
  readonly path: string
  readonly query: URLSearchParams
}

const listeners = new Set<() => void>()
let seen: { href: string; place: Place } | undefined

function current(): Place {
  if (seen?.href !== location.href)
    seen = { href: location.href, place: { path: location.pathname, query: new URLSearchParams(location.search) } }
  return seen.place
}

function announce() {
  for (const listener of listeners) listener()
}

addEventListener('popstate', announce)

/** The current address; renders again when it changes. */
export function usePlace(): Place {
  return useSyncExternalStore(listen, current)
}

function listen(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** `instead` leaves no step in the history. */
export function go(to: string, how: 'onward' | 'instead' = 'onward'): void {
  if (how === 'instead') history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  announce()
}

/** Changes the query of the address, without a step in the history. */
export function amend(changes: Readonly<Record<string, string | null>>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes))
    if (value === null) query.delete(name)
    else query.set(name, value)
  const text = query.toString()
  history.replaceState(history.state, '', location.pathname + (text === '' ? '' : `?${text}`))
  announce()
}
