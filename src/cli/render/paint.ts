/** Colours. The text must be complete without them. */
export interface Paint {
  readonly strong: (text: string) => string
  readonly faint: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly warn: (text: string) => string
}

const codes = { strong: [1, 22], faint: [2, 22], good: [32, 39], bad: [31, 39], warn: [33, 39] } as const

/** Every code that this program prints, in one group. */
export const colourCodes = new RegExp(`(\\u001b\\[(?:${Object.values(codes).flat().join('|')})m)`)

/** Colours if the terminal has them, else plain text. */
export function paintFor(hasColor: boolean): Paint {
  const brush = ([on, off]: readonly [number, number]) =>
    hasColor ? (text: string) => `\u001b[${on}m${text}\u001b[${off}m` : (text: string) => text
  return {
    strong: brush(codes.strong),
    faint: brush(codes.faint),
    good: brush(codes.good),
    bad: brush(codes.bad),
    warn: brush(codes.warn),
  }
}
