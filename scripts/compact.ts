const width = 120
const opening = '{[(<'
const closing = '}])>'

/** A declaration on one line, without comments. Enums of zod name each value once. */
export function flat(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\s+/g, ' ')
    .replace(/\bz\.ZodEnum<\{ ([^{}]*) \}>/g, (_, members: string) => {
      const values = members.split(';').map((member) => member.slice(member.indexOf(':') + 1).trim())
      return `z.ZodEnum<${values.filter((value) => value !== '').join(' | ')}>`
    })
    .replace(/^declare /, '')
    .trim()
}

/** A flat text, broken at the members of its outermost braces where it is too long, and each long member at its own. */
export function broken(text: string, indent = ''): string {
  if (indent.length + text.length <= width) return indent + text
  const start = text.indexOf('{')
  const end = start < 0 ? -1 : endOf(text, start)
  if (end < 0) return indent + text
  const members = split(text.slice(start + 1, end)).map((member) => broken(member, `${indent}  `))
  return [`${indent}${text.slice(0, start + 1)}`, ...members, ...rest(text.slice(end), indent)].join('\n')
}

/** Breaks the rest of a line behind its first braces, which may have braces of its own. */
function rest(text: string, indent: string): readonly string[] {
  const start = text.indexOf('{')
  if (start < 0 || indent.length + text.length <= width) return [indent + text]
  const end = endOf(text, start)
  const members = split(text.slice(start + 1, end)).map((member) => broken(member, `${indent}  `))
  return [indent + text.slice(0, start + 1), ...members, ...rest(text.slice(end), indent)]
}

/** The members of an object type. Semicolons that no bracket encloses are between them. */
function split(body: string): readonly string[] {
  const members: string[] = []
  let from = 0
  for (const { at, depth } of walk(body))
    if (depth === 0 && body[at] === ';') {
      members.push(body.slice(from, at + 1).trim())
      from = at + 1
    }
  return [...members, body.slice(from).trim()].filter((member) => member !== '')
}

function endOf(text: string, start: number): number {
  for (const { at, depth } of walk(text.slice(start))) if (depth === 0 && at > 0) return start + at
  return -1
}

/** Each character outside of strings, and how many brackets enclose it. An arrow closes none. */
function* walk(text: string): Generator<{ readonly at: number; readonly depth: number }> {
  let depth = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote !== '') {
      if (character === '\\') at++
      else if (character === quote) quote = ''
      continue
    }
    if ('"\'`'.includes(character)) quote = character
    else if (opening.includes(character)) depth++
    else if (closing.includes(character) && !(character === '>' && text[at - 1] === '=')) depth--
    yield { at, depth }
  }
}
