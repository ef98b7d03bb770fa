import { Fault, type FaultRow } from './fault.ts'
import { recordFaults, sessionFaults, storeFaults } from './record-faults.ts'
import { requestFaults } from './request-faults.ts'
import { workFaults } from './work-faults.ts'

const rows = { ...recordFaults, ...storeFaults, ...sessionFaults, ...workFaults, ...requestFaults }

/** The code of a fault. Codes are public: rows are added, and no code changes its meaning. */
export type FaultCode = keyof typeof rows

type DetailsOf<C extends FaultCode> = Parameters<(typeof rows)[C]['says']>[0]

/** The fault of one code, with its details. */
export type FaultOf<C extends FaultCode> = { [K in C]: Fault<K, DetailsOf<K>> }[C]

/** Makes the fault of one row. The row can be read, so that the reference is written from it. */
interface MakeFault<C extends FaultCode> {
  (details: DetailsOf<C>, options?: ErrorOptions): FaultOf<C>
  readonly row: FaultRow
}

/** Every way in which a request is refused: `throw faults.not_found({ … })` is typed by its row. */
export const faults = Object.fromEntries(
  Object.entries<FaultRow>(rows).map(([code, row]) => [
    code,
    Object.assign((details: object, options?: ErrorOptions) => new Fault(code, row, details, options), { row }),
  ]),
) as { readonly [C in FaultCode]: MakeFault<C> }

/** Whether an error is a fault, with one of these codes if any are given. */
export function isFault<C extends FaultCode = FaultCode>(error: unknown, ...codes: readonly C[]): error is FaultOf<C> {
  return error instanceof Fault && (codes.length === 0 || codes.some((code) => code === error.code))
}

/** The value of a decision. A refusal is thrown: the request that the caller carries out is refused with it. */
export function accepted<T>(decision: T | Fault): T {
  if (decision instanceof Fault) throw decision
  return decision
}

/** The fault of a file that the system refused to read or write. Every other error is returned as it is. */
export function fileRefused(file: string, error: unknown): unknown {
  const refused = error as NodeJS.ErrnoException
  if (!(error instanceof Error) || refused.syscall === undefined) return error
  return faults.file_unusable({ file, problem: `${fileProblem(refused)}.` }, { cause: error })
}

/** The reason why the system refused a file, as a clause without its path. */
export function fileProblem({ code = '' }: NodeJS.ErrnoException): string {
  return fileProblems[code] ?? `the system refuses it (${code})`
}

const fileProblems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of it is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already; name another one',
  ELOOP: 'its links lead back to themselves',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  EROFS: 'it may be read but not written',
  ENOSPC: 'the disk is full',
}
