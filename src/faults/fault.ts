/**
 * What is at fault. `refusal`: the state of the record does not allow the request. `usage`: the request itself is
 * wrong. `store`: the store is broken, closed or out of reach, so nothing can be decided.
 */
export type FaultKind = 'refusal' | 'store' | 'usage'

/** One row of the table of faults. */
export interface FaultRow {
  readonly kind: FaultKind
  readonly http: 400 | 401 | 403 | 404 | 408 | 409 | 410 | 413 | 415 | 422 | 429 | 431 | 500 | 503 | 507
  /** Whether the same request can succeed if it is sent again unchanged. */
  readonly retry: 'never' | 'at_once' | 'later'
  /** What the code means, for the reference. */
  readonly meaning: string
  /** What to do, for the reference. */
  readonly remedy: string
  /** The message: what is wrong with which value, what is allowed, what to do. */
  says(details: object): string
}

/** What most rows share: kind, HTTP status, and whether to retry. */
export const conflict = { kind: 'refusal', http: 409, retry: 'never' } as const
/** A refusal that can succeed later. */
export const notNow = { kind: 'refusal', http: 409, retry: 'later' } as const
/** A refusal because a part is not reachable now. */
export const unavailable = { kind: 'refusal', http: 503, retry: 'later' } as const
/** A request whose content does not fit. */
export const unfit = { kind: 'usage', http: 422, retry: 'never' } as const
/** A request that is malformed. */
export const wrong = { kind: 'usage', http: 400, retry: 'never' } as const
/** A request that its author may not make. */
export const forbidden = { kind: 'usage', http: 403, retry: 'never' } as const
/** A store that cannot be used as it is. */
export const broken = { kind: 'store', http: 503, retry: 'later' } as const

/** The one error class. Callers branch on `code` or `kind`; people read `message`; programs read `details`. */
export class Fault<C extends string = string, D extends object = object> extends Error {
  override readonly name = 'Fault'
  readonly code: C
  readonly kind: FaultKind
  readonly http: FaultRow['http']
  readonly retry: FaultRow['retry']
  readonly details: D

  constructor(code: C, row: Pick<FaultRow, 'kind' | 'http' | 'retry' | 'says'>, details: D, options?: ErrorOptions) {
    super(row.says(details), options)
    this.code = code
    this.kind = row.kind
    this.http = row.http
    this.retry = row.retry
    this.details = details
  }

  toJSON() {
    return { code: this.code, message: this.message, retry: this.retry, details: this.details }
  }
}
