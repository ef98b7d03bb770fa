export interface FaultRow {
  readonly http: 400 | 401 | 403 | 404 | 408 | 409 | 410 | 413 | 415 | 422 | 429 | 431 | 500 | 503 | 507
  /** Whether the same request can succeed if it is sent again unchanged. */
  readonly retry: 'never' | 'at_once' | 'later'
  readonly says: (details: never) => string
}

/** The one error class. Callers branch on `code`; people read `message`; machines read `details`. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: string
  readonly http: FaultRow['http']
  readonly retry: FaultRow['retry']
  readonly details: object

  constructor(code: string, row: FaultRow, details: object, options?: ErrorOptions) {
    super(row.says(details as never), options)
    this.code = code
    this.http = row.http
    this.retry = row.retry
    this.details = details
  }

  toJSON() {
    return { code: this.code, message: this.message, retry: this.retry, details: this.details }
  }
}

/** The store takes nothing more until it is opened again. */
export function isPoisoned(error: unknown): boolean {
  return error instanceof Fault && error.code === 'store_poisoned'
}

/** Makes the fault of one row; the row itself can be read, so that the reference is written from it. */
export interface MakeFault<D> {
  (details: D, options?: ErrorOptions): Fault
  readonly row: FaultRow
}

/** Turns the table into functions, so that `throw faults.not_found({ … })` is typed by its row. */
export function defineFaults<R extends Readonly<Record<string, FaultRow>>>(rows: R) {
  const entries = Object.entries(rows).map(([code, row]) => [
    code,
    Object.assign((details: never, options?: ErrorOptions) => new Fault(code, row, details, options), { row }),
  ])
  return Object.fromEntries(entries) as { readonly [C in keyof R]: MakeFault<Parameters<R[C]['says']>[0]> }
}
