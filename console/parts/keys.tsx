import { useEffect, useRef, useSyncExternalStore } from 'react'

interface Key {
  readonly says: string
  readonly does: () => void
}

/** `j`, `Shift+.` is `>`, `g s` is one after the other. */
type KeyMap = Readonly<Record<string, Key>>

const place = 'statewright.single-keys'
const maps = new Set<{ current: KeyMap }>()
const listeners = new Set<() => void>()
let version = 0
let before = ''
let beforeAt = 0

function changed() {
  version++
  for (const listener of listeners) listener()
}

/** Keys that count while this part is on the page. A later part wins over an earlier one. */
export function useKeys(keys: KeyMap): void {
  const held = useRef(keys)
  held.current = keys
  const names = Object.keys(keys).join(' ')
  // The map is registered again when its keys change.
  useEffect(() => {
    maps.add(held)
    changed()
    return () => {
      maps.delete(held)
      changed()
    }
  }, [names])
}

/** Every key that counts now, for the page that explains them. */
export function useAllKeys(): readonly (readonly [string, string])[] {
  useSyncExternalStore(listen, () => version)
  const all = new Map<string, string>()
  for (const map of maps) for (const [key, { says }] of Object.entries(map.current)) all.set(key, says)
  return [...all]
}

function listen(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether single keys are shortcuts. */
export const singleKeysAreOn = () => localStorage.getItem(place) !== 'off'

/** Turns shortcuts of single keys on or off. */
export function setSingleKeys(on: boolean): void {
  localStorage.setItem(place, on ? 'on' : 'off')
  changed()
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  const type = target instanceof HTMLInputElement ? target.type : ''
  if (['checkbox', 'radio', 'button', 'submit', 'range'].includes(type)) return type === 'range'
  return target.matches('input, textarea, select, [contenteditable]')
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || event.metaKey || event.isComposing) return
  if (event.ctrlKey || !singleKeysAreOn() || isWriting(event.target)) return
  const isLate = event.timeStamp - beforeAt > 1_200
  const two = isLate ? '' : `${before} ${event.key}`
  before = event.key
  beforeAt = event.timeStamp
  const found = find(two) ?? find(event.key)
  if (found === undefined) return
  event.preventDefault()
  before = ''
  found.does()
})

function find(name: string): Key | undefined {
  let found: Key | undefined
  for (const map of maps) found = map.current[name] ?? found
  return found
}
