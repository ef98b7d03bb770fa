import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSignatureCheck, createSigner } from '../../../src/adapters/host/secret-files.ts'
import { digests, type FrozenFiles, freeze, statementOf } from '../../../src/coordinator/outputs/freeze.ts'
import { verifyPlan } from '../../../src/coordinator/outputs/verify.ts'
import { canonicalJson } from '../../../src/kernel/json.ts'
import {
  answering,
  inputOf,
  intentOf,
  openQuestion,
  plan,
  planned,
  ports,
  rule,
  rulesOnly,
} from '../../support/coordinator.ts'
import { scenario } from '../../support/scenario.ts'

const exhaustive = process.env.STATEWRIGHT_PROOF === '1'
const limit_ms = exhaustive ? 3_600_000 : 30_000
const keys = generateKeyPairSync('ed25519')
const signer = createSigner(keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
const check = createSignatureCheck(keys.publicKey.export({ type: 'spki', format: 'pem' }) as string)

const intent = intentOf((i) => ({
  ...i,
  open_questions: [
    openQuestion('target', {
      suggested_answers: [
        { value: 'go', answer_text: 'Go | on', rationale: '`x`' },
        { value: 'stop', answer_text: 'Stop', rationale: '# no' },
      ],
    }),
  ],
}))
const registry = rulesOnly(
  rule('rule_ok', 'allow', 'context.risk >= 0'),
  rule('rule_no_go', 'deny', 'context.answers.contains("target=go")'),
)
const first = answering(plan({ intent, registry }).waits_for, { target: 'go' })
/** A plan that went through everything: a conflict, a second round, an answer. */
const eventful = plan({ intent, registry }, [
  first,
  answering(plan({ intent, registry }, [first]).waits_for, { target: 'stop' }),
])
const input = inputOf({ intent, registry })
const files = freeze(eventful, input, ports, signer)
const blockedInput = inputOf({ intent: intentOf((i) => ({ ...i, planned_commands: [planned('cmd_raed')] })) })
const blocked = freeze(plan({ intent: blockedInput.intent }), blockedInput, ports, signer)

describe('frozen plan: contents', () => {
  scenario('CO-10', 'Each artifact is there as JSON and Markdown, and its file has its checksum', () => {
    // GIVEN an eventful plan
    expect(eventful.state).toBe('DONE')
    const names = Object.keys(files)
    for (const name of [
      'precheck_report',
      'context_bundle',
      'rule_decisions_1',
      'rule_decisions_2',
      'rule_decisions_3',
      'execution_graph_draft_2',
      'question_pack_1',
      'question_pack_2',
      'answer_pack_1',
      'answer_pack_2',
      'execution_graph',
      'review_pack',
      'lineage',
      'run_summary',
      'run_tape',
      'audit_log',
    ])
      expect(names).toEqual(expect.arrayContaining([`${name}.json`, `${name}.md`]))
    // THEN what the tape records is the SHA-256 of the file, byte for byte
    const recorded = eventful.tape.entries.flatMap(({ outputs_produced }) => outputs_produced)
    expect(recorded.find(({ artifact_type }) => artifact_type === 'review_pack')?.checksum).toBe(
      ports.sha256(files['review_pack.json'] ?? ''),
    )
    // AND words from outside cannot break a page
    expect(files['question_pack_1.md']).toContain('Go \\| on')
    expect(files['question_pack_1.md']).toContain('\\# no')
  })

  scenario('CO-10', 'The statement leads from intent and registry to every file, in the words of in-toto', () => {
    // GIVEN the statement
    const statement = JSON.parse(files['statement.json'] ?? '')
    expect(statement).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'https://slsa.dev/provenance/v1',
    })
    // THEN its subjects are the files, and its dependencies the registry versions, neither more nor fewer
    const others = Object.keys(files)
      .filter((name) => !name.startsWith('statement.'))
      .sort()
    expect(statement.subject.map(({ name }: { name: string }) => name)).toEqual(others)
    expect(statement.predicate.buildDefinition.resolvedDependencies.map(({ name }: { name: string }) => name)).toEqual(
      eventful.lineage.registry_versions.map(({ kind, id, version }) => `${kind}/${id}@${version}`),
    )
    expect(statement.predicate.runDetails.metadata.invocationId).toBe(eventful.run_id)
    expect(statement.predicate.runDetails.byproducts[0].digest.sha256).toBe(ports.sha256(files['run_tape.json'] ?? ''))
  })

  test('a plan and a failure verify as they are, signed or not', () => {
    for (const frozen of [files, blocked]) {
      expect(verifyPlan(frozen, ports, check)).toEqual([])
      const { 'statement.dsse.json': _, ...unsigned } = frozen
      expect(verifyPlan(unsigned, ports)).toEqual([])
      expect(verifyPlan(unsigned, ports, check)).toMatchObject([{ check: 'signature' }])
    }
  })

  test('the same plan signed twice is the same, and another key is not taken for it', () => {
    expect(freeze(eventful, input, ports, signer)).toEqual(files)
    const stranger = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string
    expect(verifyPlan(files, ports, createSignatureCheck(stranger))).toMatchObject([
      { file: 'statement.dsse.json', check: 'signature' },
    ])
  })
})

describe('frozen plan: tampering', () => {
  for (const [what, frozen] of [
    ['a plan', files],
    ['a failure', blocked],
  ] as const)
    for (const name of Object.keys(frozen))
      test(`a changed byte of ${name} of ${what} is found`, { timeout: limit_ms }, () => {
        const text = frozen[name] ?? ''
        // The files of the failure are few enough to change each of their bytes; those of the plan are ten times as many.
        const every = exhaustive ? (what === 'a plan' ? 7 : 1) : Math.max(1, Math.floor(text.length / 6))
        for (let at = 0; at < text.length; at += every) {
          const other = text[at] === '0' ? '1' : '0'
          expect(problemsWith(frozen, name, text.slice(0, at) + other + text.slice(at + 1))).not.toEqual([])
        }
        // Cut short, made longer, given white space that JSON would not mind, emptied.
        for (const changed of [text.slice(0, -1), `${text} `, `${text}\n`, ` ${text}`, ''])
          expect(problemsWith(frozen, name, changed)).not.toEqual([])
        const { [name]: _, ...without } = frozen
        expect(verifyPlan(without, ports, check)).not.toEqual([])
      })

  test('a file that does not belong there is found', () => {
    for (const name of [
      'extra.json',
      'extra.md',
      'rule_decisions_9.json',
      'rule_decisions_9.md',
      'execution_graph.txt',
    ])
      expect(problemsWith(files, name, files['rule_decisions_1.json'] ?? '')).not.toEqual([])
  })

  test('an artifact that is rewritten together with its page and the statement is found by the tape', () => {
    const kinder = JSON.parse(files['run_summary.json'] ?? '')
    const rewritten = freeze(
      { ...eventful, artifacts: { ...eventful.artifacts, run_summary: { ...kinder, warnings: 7 } } },
      input,
      ports,
    )
    expect(verifyPlan(rewritten, ports)).toMatchObject([
      { file: 'run_summary.json', check: 'checksum' },
      { file: 'run_summary.json', check: 'lineage' },
    ])
  })

  test('an illegal move on the tape, another intent and a changed graph are found, even if all else was adapted', () => {
    const { tape, artifacts } = eventful
    const leap = {
      ...tape,
      entries: tape.entries.map((entry, i) => (i === 2 ? { ...entry, trigger: 'all_outputs_frozen' as const } : entry)),
    }
    expect(verifyPlan(freeze({ ...eventful, tape: leap }, input, ports), ports)).toContainEqual(
      expect.objectContaining({
        check: 'lineage',
        message: expect.stringContaining('has no PRECHECKED → CONTEXT_BUILT on all_outputs_frozen'),
      }),
    )
    expect(verifyPlan(freeze(eventful, { ...input, intent: intentOf() }, ports), ports)).toContainEqual({
      file: 'lineage.json',
      check: 'lineage',
      message: 'It does not lead back to the intent.',
    })
    const graph = artifacts.execution_graph as NonNullable<typeof artifacts.execution_graph>
    const looped = {
      ...graph,
      edges: [
        ...graph.edges,
        {
          edge_id: 'edge_9999',
          from_node: 'node_action_003',
          to_node: 'node_phase_001',
          edge_type: 'sequential' as const,
        },
      ],
    }
    expect(
      verifyPlan(freeze({ ...eventful, artifacts: { ...artifacts, execution_graph: looped } }, input, ports), ports),
    ).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ check: 'topology', message: expect.stringContaining('It has a cycle') }),
      ]),
    )
  })

  test('a page that says something else than its artifact is found, even if the statement agrees with the page', () => {
    const lying: FrozenFiles = { ...files, 'review_pack.md': '# Review\n\nAll is well.\n' }
    const { 'statement.json': _, 'statement.dsse.json': __, ...others } = lying
    const statement = canonicalJson(statementOf(eventful.lineage, digests(others, ports.sha256)))
    expect(verifyPlan({ ...others, 'statement.json': statement }, ports)).toEqual([
      { file: 'review_pack.md', check: 'checksum', message: 'It is not what review_pack.json gives.' },
    ])
  })

  test('a signature that is only written differently is not the same signature', () => {
    const envelope = JSON.parse(files['statement.dsse.json'] ?? '')
    const { sig } = envelope.signatures[0] as { sig: string }
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const at = sig.indexOf('=') - 1
    const respelled = `${sig.slice(0, at)}${alphabet[alphabet.indexOf(sig[at] ?? '') + 1]}${sig.slice(at + 1)}`
    expect(Buffer.from(respelled, 'base64').equals(Buffer.from(sig, 'base64'))).toBe(true)
    const text = canonicalJson({ ...envelope, signatures: [{ ...envelope.signatures[0], sig: respelled }] })
    expect(problemsWith(files, 'statement.dsse.json', text)).toMatchObject([{ check: 'signature' }])
  })

  test('without a key, an envelope that does not hold the statement is found all the same', () => {
    const envelope = JSON.parse(files['statement.dsse.json'] ?? '')
    const changes = [
      { payload: btoa('{"hello":1}') },
      { payloadType: 'text/plain' },
      { signatures: [] },
      { signatures: [...envelope.signatures, ...envelope.signatures] },
      { more: 1 },
    ]
    for (const change of changes) {
      const changed = { ...files, 'statement.dsse.json': canonicalJson({ ...envelope, ...change }) }
      expect(verifyPlan(changed, ports)).toMatchObject([{ file: 'statement.dsse.json', check: 'signature' }])
    }
  })

  test('a coordination that has not ended is not frozen', () => {
    expect(() => freeze(plan({ intent, registry }), input, ports)).toThrow(
      expect.objectContaining({ code: 'coordination_not_over' }),
    )
  })
})

function problemsWith(frozen: FrozenFiles, name: string, text: string) {
  return verifyPlan({ ...frozen, [name]: text }, ports, check)
}
