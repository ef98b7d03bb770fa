import { expect, test } from 'vitest'

/**
 * A requirement, played from outside: with what the package exports, what the server answers, what the command line
 * prints and what the product writes. The id comes first, where `npm run requirements` looks for it.
 */
export function scenario(id: string, title: string, play: () => Promise<void>): void {
  test(`${id} ${title}`, async () => {
    const before = expect.getState().assertionCalls
    await play()
    if (expect.getState().assertionCalls === before) throw new Error('The scenario asserted nothing.')
  })
}
