import { useCallback, useEffect, useRef, useState } from 'react'
import type { Answer, Problem } from './api/request.ts'
import { hearServerTime } from './clock.ts'

interface Asked<T> {
  /** The last good answer; it stays when a later one fails. */
  readonly value: T | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  readonly again: () => void
}

/** Loads data for a key, and again when the key changes or `again` is called. */
export function useAsked<T>(key: string, ask: (signal: AbortSignal) => Promise<Answer<T>>): Asked<T> {
  const [state, setState] = useState<{ key: string; value?: T; problem?: Problem; isLoading: boolean }>({
    key,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const held = useRef(ask)
  held.current = ask
  // The key selects the data; the round counts the requests.
  useEffect(() => {
    const leave = new AbortController()
    setState((was) => ({ ...(was.key === key ? was : {}), key, isLoading: true }))
    void held.current(leave.signal).then((answer) => {
      if (leave.signal.aborted) return
      if (answer.ok) {
        hearServerTime(answer.server_at)
        setState({ key, value: answer.value, isLoading: false })
      } else setState((was) => ({ ...was, problem: answer.problem, isLoading: false }))
    })
    return () => leave.abort()
  }, [key, round])
  const again = useCallback(() => setRound((n) => n + 1), [])
  const isCurrent = state.key === key
  return {
    value: isCurrent ? state.value : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: state.isLoading || !isCurrent,
    again,
  }
}
