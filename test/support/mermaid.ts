/** The part of Mermaid's state diagrams that the specifications and our own export use. Anything else is an error. */
export interface Diagram {
  readonly initial: readonly string[]
  readonly terminal: readonly string[]
  readonly arrows: readonly Arrow[]
}

export interface Arrow {
  readonly line: number
  readonly from: string
  readonly to: string
  readonly label: string
}

export interface LabelPart {
  readonly trigger: string
  readonly guards: readonly string[]
}

const name = String.raw`[A-Za-z_]\w*`
const beginning = new RegExp(String.raw`^\[\*\] --> (${name})$`)
const ending = new RegExp(String.raw`^(${name}) --> \[\*\]$`)
const labelled = new RegExp(String.raw`^(${name}) --> (${name}) ?: (\S.*)$`)

export function parseMermaid(text: string): Diagram {
  const initial: string[] = []
  const terminal: string[] = []
  const arrows: Arrow[] = []
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (i === 0 && line === 'stateDiagram-v2') continue
    if (i > 0 && line === '') continue
    const begins = beginning.exec(line)
    const ends = ending.exec(line)
    const [, from, to, label] = labelled.exec(line) ?? []
    if (begins?.[1] !== undefined) initial.push(begins[1])
    else if (ends?.[1] !== undefined) terminal.push(ends[1])
    else if (from !== undefined && to !== undefined && label !== undefined)
      arrows.push({ line: i + 1, from, to, label: label.trimEnd() })
    else throw new Error(`line ${i + 1} is not understood: ${raw}`)
  }
  return { initial, terminal, arrows }
}

const call = /^([a-z][\w.]*)(?:\((\w+)\)| \[([\w, ]+)\])?$/

/** `a / b` is two triggers; a guard stands in parentheses, or several in brackets behind the trigger. */
export function readLabel({ label, line }: Arrow): readonly LabelPart[] {
  return label.split(' / ').map((part) => {
    const [whole, trigger, guard, guards] = call.exec(part) ?? []
    if (whole === undefined || trigger === undefined)
      throw new Error(`line ${line} has a label not understood: ${part}`)
    return { trigger, guards: guard !== undefined ? [guard] : (guards?.split(', ') ?? []) }
  })
}
