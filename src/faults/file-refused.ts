import { faults } from './catalogue.ts'

/** What the system says about a file is a refusal, in its words. Anything else that was thrown stays what it is. */
export function fileRefused(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error
  return faults.file_unusable({ file, problem: `${error.message}.` }, { cause: error })
}
