let seed = 7

function dice(sides: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * sides)
}

const word = () => Array.from({ length: 3 + dice(7) }, () => String.fromCharCode(97 + dice(26))).join('')
const vocabulary = Array.from({ length: 4_096 }, word)

/** Words of a vocabulary as large as that of prose. They are the same in every process. */
export function text(length: number): string {
  const words: string[] = []
  for (let made = 0; made < length; made += (words.at(-1)?.length ?? 0) + 1)
    words.push(vocabulary[dice(vocabulary.length)] ?? '')
  return words.join(' ').slice(0, length)
}

const kilobytes = 1_024

/** Results of a tool, 1 kB each. One repeats only after 1,024 others, so no store can compress them much. */
export function results(): (i: number) => string {
  const all = text(kilobytes * 1_024)
  return (i) => all.slice((i % kilobytes) * 1_024, ((i % kilobytes) + 1) * 1_024)
}
