/** Characters that move a cursor, turn text around, or cannot be seen, except line ends and emoji variants. */
const treacherous = /(?!\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u{2800}]/gu

/** A text that is fit for a terminal or a log: it cannot move the cursor, colour itself, hide, or change its order. */
export function printable(text: string): string {
  return text.replace(treacherous, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** A name from outside, fit to stand within a sentence: it cannot begin a new line either. */
export function printableName(name: string): string {
  return printable(name).replaceAll('\n', '\\u{a}')
}

/** JSON for a terminal that parses to the same value: characters that cannot be printed are escaped. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  return text.replace(treacherous, (character) => {
    let escaped = ''
    for (let i = 0; i < character.length; i++) escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}

/** A text in pieces of this many UTF-16 units, or one more where a character would be cut in two. */
export function* piecesOf(text: string, size: number): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const isCut = (text.codePointAt(from + size - 1) ?? 0) > 0xffff
    const to = from + size + (isCut ? 1 : 0)
    yield text.slice(from, to)
    from = to
  }
}

/** A store URL for people, without a password. A misspelled URL may hold one too, so it is masked as a text. */
export function shownStore(store: string): string {
  if (/^(memory:|sqlite:(?!\/\/))/.test(store)) return store
  const [known = ''] = /^(?:[^:/@]*:\/\/)?[^:/@]*/.exec(store) ?? []
  const [colon, at] = [store.indexOf(':', known.length), store.lastIndexOf('@')]
  const open = colon >= 0 && colon < at ? `${known}${store.slice(at)}` : store
  return open.replace(/(?<=[?&])\w*password=[^&#]*&?/gi, '').replace(/[?&]$/, '')
}
