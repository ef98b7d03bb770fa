/** Makes every plan of the list in a process of its own and prints one digest of all that came out. */
import { coordinate } from '../../../src/coordinator/coordinate.ts'
import { freeze } from '../../../src/coordinator/outputs/freeze.ts'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import { inputOf, intentOf, openQuestion, planned, ports } from '../../support/coordinator.ts'
import { answersFor, shuffled } from '../../support/intents.ts'

const turn = Number(process.argv[2] ?? 0)
const asking = intentOf((i) => ({
  ...i,
  title: 'Ünïcødé — straße İıİ',
  open_questions: [openQuestion('which_way'), openQuestion('other', { blocking_level: 'low' })],
}))
const failing = intentOf((i) => ({ ...i, planned_commands: [planned('cmd_raed')] }))
const digests = [intentOf(), asking, failing].map((intent) => {
  const input = shuffled(inputOf({ intent }) as unknown as Json, turn) as unknown as ReturnType<typeof inputOf>
  const result = coordinate(input, answersFor(input, [1, 2]), ports)
  const files = result.tape.is_closed ? freeze(result, input, ports) : {}
  return ports.sha256(canonicalJson({ result, files } as unknown as Json))
})
const now = new Date(0).toLocaleString()
console.log(JSON.stringify({ digests, now, zone: new Date(0).getTimezoneOffset() }))
