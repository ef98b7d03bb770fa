/**
 * The cause of a fault. `refusal`: the request is well formed and cannot be done now, or not in this state.
 * `usage`: the request itself is wrong. `store`: the store is broken, closed or out of reach, so nothing can be decided.
 */
export type FaultKind = 'refusal' | 'store' | 'usage'

/** One row of the table of faults. */
export interface FaultRow<D extends object = object> {
  readonly kind: FaultKind
  readonly http: 400 | 401 | 403 | 404 | 408 | 409 | 410 | 413 | 415 | 422 | 429 | 431 | 500 | 503 | 507
  /** Whether the same request can succeed if it is sent again unchanged. */
  readonly retry: 'never' | 'at_once' | 'later'
  /** The meaning of the code, for the reference. */
  readonly meaning: string
  /** The remedy, for the reference. */
  readonly remedy: string
  /** The message: the wrong value, the allowed ones, the remedy. */
  says(details: D): string
}

type Answer = Pick<FaultRow, 'kind' | 'http' | 'retry'>

/** Makes rows that share kind, HTTP status, and whether to retry. A row may differ in the last two. */
function rows(kind: FaultKind, http: FaultRow['http'], retry: FaultRow['retry']) {
  return <D extends object>(row: Omit<FaultRow<D>, keyof Answer> & Partial<Omit<Answer, 'kind'>>): FaultRow<D> => ({
    kind,
    http,
    retry,
    ...row,
  })
}

/** A refusal in this state. */
export const conflict = rows('refusal', 409, 'never')
/** A refusal that can succeed later. */
export const notNow = rows('refusal', 409, 'later')
/** A refusal because a part is not reachable now. */
export const unavailable = rows('refusal', 503, 'later')
/** A request whose content does not fit. */
export const unfit = rows('usage', 422, 'never')
/** A request that is malformed. */
export const wrong = rows('usage', 400, 'never')
/** A request that its author may not make. */
export const forbidden = rows('usage', 403, 'never')
/** A store that cannot be used as it is. */
export const broken = rows('store', 503, 'later')

/** The one error class. Callers branch on `code` or `kind`; people read `message`; programs read `details`. */
export class Fault<C extends string = string, D extends object = object> extends Error {
  override readonly name = 'Fault'
  /** Says which refusal it is. It never changes its meaning. */
  readonly code: C
  /** The cause of the fault. */
  readonly kind: FaultKind
  /** The HTTP status that the server answers with. */
  readonly http: FaultRow['http']
  /** Whether the same request can succeed if it is sent again unchanged. */
  readonly retry: FaultRow['retry']
  /** The values that the message names, for programs. */
  readonly details: D

  constructor(code: C, row: Pick<FaultRow, 'kind' | 'http' | 'retry' | 'says'>, details: D, options?: ErrorOptions) {
    super(row.says(details), options)
    this.code = code
    this.kind = row.kind
    this.http = row.http
    this.retry = row.retry
    this.details = details
  }

  /** The body of an answer over HTTP. */
  toJSON() {
    return { code: this.code, message: this.message, retry: this.retry, details: this.details }
  }
}
