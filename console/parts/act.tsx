import { useState } from 'react'
import type { Answer, Problem } from '../api/request.ts'

/** An act that is under way, done, or refused. While it is under way it cannot be asked for again. */
export function useAct(): {
  readonly isBusy: boolean
  readonly problem: Problem | undefined
  readonly run: <T>(act: () => Promise<Answer<T>>, done?: (value: T) => void) => Promise<void>
  readonly forget: () => void
} {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  async function run<T>(act: () => Promise<Answer<T>>, done?: (value: T) => void) {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    const answer = await act()
    setBusy(false)
    if (answer.ok) done?.(answer.value)
    else setProblem(answer.problem)
  }
  return { isBusy, problem, run, forget: () => setProblem(undefined) }
}
