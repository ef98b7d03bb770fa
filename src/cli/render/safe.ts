/** What moves a cursor, turns text around, or cannot be seen: all but the end of a line. */
const treacherous = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * What anyone else wrote, fit for a terminal: it cannot move the cursor, colour
 * itself, hide, or read in another order than it will be carried out.
 */
export function safe(text: string): string {
  return text.replace(treacherous, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** The same on one line. */
export function safeLine(text: string): string {
  return safe(text.replaceAll(/\s+/g, ' ').trim())
}
