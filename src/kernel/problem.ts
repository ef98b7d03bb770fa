/** One place of a value that does not fit, as a JSON pointer, and what is wrong there. */
export interface Problem {
  readonly pointer: string
  readonly problem: string
}

export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
