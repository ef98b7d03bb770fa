/** A file of a project as a scan sees it. Paths are relative, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Something found at a place, before it has an evidence id. */
export interface Find<F> {
  readonly fact: F
  readonly file: string
  readonly line: number
  readonly snippet: string
  readonly description: string
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function lineText(text: string, line: number): string {
  return (text.split('\n')[line - 1] ?? '').trim().slice(0, 400).toWellFormed()
}

/** The first line that holds the needle, from 1; null when none does. */
export function lineOf(text: string, needle: string): number | null {
  const at = text.indexOf(needle)
  return at === -1 ? null : text.slice(0, at).split('\n').length
}
