import { defineFaults } from './fault.ts'

/** Every way we say no to a request. Codes are public: add rows, never rename one. */
export const faults = defineFaults({
  transition_refused: {
    http: 409,
    retry: 'never',
    says: (d: { machine: string; id: string; from: string; on: string; refusal: string; legal: readonly string[] }) =>
      `${d.machine} ${d.id} is ${d.from} and refuses "${d.on}"${d.refusal === 'guarded' ? ' because its conditions do not hold' : ''}; it accepts ${d.legal.join(', ') || 'nothing'}.`,
  },
  not_found: {
    http: 404,
    retry: 'never',
    says: (d: { what: string; id: string; known?: readonly string[] }) =>
      `There is no ${d.what} ${d.id}${d.known === undefined ? '' : `; there is ${d.known.join(', ')}`}.`,
  },
  bad_usage: {
    http: 400,
    retry: 'never',
    says: (d: { problem: string; usage: string }) => `${d.problem}\nusage: ${d.usage}`,
  },
})
