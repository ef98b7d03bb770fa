/** Longer messages are cut: some libraries put a whole response into theirs. */
const longest = 4_000

export interface Thrown {
  readonly message: string
  readonly kind: string
}

/** What can be said about something that was thrown, whatever it is. Never throws itself. */
export function readThrown(thrown: unknown): Thrown {
  const message = text(() => (thrown instanceof Error ? thrown.message || thrown.name : String(thrown)))
  const kind = text(() => {
    const { error_kind, code } = Object(thrown)
    return typeof error_kind === 'string' ? error_kind : typeof code === 'string' ? code : 'thrown'
  })
  return { message: message ?? 'Something was thrown that cannot be shown.', kind: kind ?? 'thrown' }
}

/** Whether what was thrown carries this mark. */
export function isMarked(thrown: unknown, mark: string, as: unknown = true): boolean {
  try {
    return Object(thrown)[mark] === as
  } catch {
    return false
  }
}

/** Whether it is what a signal fired with, what platforms throw when one fires, or was caused by that. */
export function isAbort(thrown: unknown, reason: unknown): boolean {
  for (let each = thrown, deep = 0; each instanceof Error && deep < 8; each = each.cause, deep++)
    if (each === reason || each.name === 'AbortError' || isMarked(each, 'code', 'ABORT_ERR')) return true
  return false
}

function text(read: () => string): string | undefined {
  try {
    return read().slice(0, longest).toWellFormed()
  } catch {
    return undefined
  }
}
