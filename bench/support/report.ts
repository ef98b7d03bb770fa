import { availableParallelism, loadavg } from 'node:os'
import { show } from './numbers.ts'

const isMarkdown = process.env.MARKDOWN === '1'

/** The limit of a value. */
export interface Goal {
  readonly value: number
  readonly least?: number
  readonly most?: number
}

function verdict({ value, least, most }: Goal): string {
  const isMet = (least === undefined || value >= least) && (most === undefined || value <= most)
  const limit = least === undefined ? `at most ${show(most ?? 0)}` : `at least ${show(least)}`
  return isMet ? `reached: ${limit}` : `MISSED: ${limit}`
}

/** A table of figures with what they are compared with, printed as text, or as Markdown with `MARKDOWN=1`. */
export function createReport(title: string, rounds: number) {
  const load = loadavg().map((one) => one.toFixed(1))
  const about = `Node ${process.version}, ${availableParallelism()} cores, load ${load.join(' ')}, medians of ${rounds} rounds`
  console.log(
    isMarkdown ? `### ${title}\n\n${about}.\n\n| | Figure | Compared |\n|---|---|---|` : `${title}\n${about}\n`,
  )
  return {
    /** One line, printed at once. */
    row(what: string, figure: string, compared = '', goal?: Goal) {
      const note = [compared, goal && verdict(goal)].filter(Boolean).join('; ')
      console.log(
        isMarkdown ? `| ${what} | ${figure} | ${note} |` : `${what.padEnd(56)} ${figure.padStart(14)}   ${note}`,
      )
    },
    /** A sentence about what was not measured. */
    note(sentence: string) {
      console.log(isMarkdown ? `| ${sentence} | | |` : sentence)
    },
  }
}
