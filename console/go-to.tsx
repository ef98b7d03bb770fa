import { type FormEvent, useEffect, useRef, useState } from 'react'
import { runEndpoints } from '../src/wire/run.ts'
import { ask } from './api/request.ts'
import { useKeys } from './parts/keys.tsx'
import { go } from './route.ts'

/** The page of an id, by its prefix. */
const places: readonly (readonly [string, (id: string) => string])[] = [
  ['ses', (id) => `/s/${id}`],
  ['exe', (id) => `/c/${id}`],
  ['int', (id) => `/inbox/${id}`],
  ['coord', (id) => `/p/${id}`],
  ['goal', (id) => `/g/${id}`],
]

/** Opens the page of an id. Other text searches the sessions. */
export function GoTo() {
  const [text, setText] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const focus = () => input.current?.focus()
  useKeys({ '/': { says: 'go to an id, or search the sessions (also Ctrl K)', does: focus } })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const id = text.trim()
    if (id === '') return
    setText('')
    input.current?.blur()
    const place = places.find(([prefix]) => id.startsWith(`${prefix}_`))
    if (place !== undefined) return go(place[1](id))
    if (!id.startsWith('run_')) return go(`/?q=${encodeURIComponent(id)}`)
    const found = await ask(runEndpoints.getRun, { params: { run_id: id } })
    go(found.ok ? `/s/${found.value.session_id}` : `/?q=${encodeURIComponent(id)}`)
  }
  return (
    <search>
      <form className="go-to" onSubmit={(event) => void submit(event)}>
        <input
          ref={input}
          type="search"
          aria-label="Go to an id, or search the sessions"
          placeholder="id or words  /"
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ key }) => {
            if (key === 'Escape') input.current?.blur()
          }}
        />
      </form>
    </search>
  )
}
