/** A text in pieces of this many UTF-16 units, or one more where a character would be cut in two. */
export function* piecesOf(text: string, size: number): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const isCut = (text.codePointAt(from + size - 1) ?? 0) > 0xffff
    const to = from + size + (isCut ? 1 : 0)
    yield text.slice(from, to)
    from = to
  }
}
