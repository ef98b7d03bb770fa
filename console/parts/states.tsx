import type { ReactNode } from 'react'
import type { Problem } from '../api/request.ts'

/** A refused or unanswered request: the problem and its remedy. */
export function Trouble({ problem, retry }: { problem: Problem; retry?: (() => void) | undefined }) {
  return (
    <div className="trouble" role="alert">
      <strong>{problem.title}.</strong> {problem.detail} {adviceFor(problem)}
      {problem.request_id !== null && <span className="faint"> Request {problem.request_id}.</span>}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

function adviceFor({ status, outcome, code }: Problem): string {
  if (code === 'unreachable') return 'Is the server running? What you see is the last it said.'
  if (status === 401) return 'Open the link that the server printed when it started, or paste its token here.'
  if (status === 403) return 'The token of this page does not allow that; use one with a wider scope.'
  if (outcome === 'unknown') return 'The request may have taken effect: check before you repeat it.'
  return ''
}

/** Says that there is nothing to show. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}

/** Says that something is on its way; only after a moment, so that a quick answer does not flicker. */
export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what} …
    </p>
  )
}
