import { beforeAll, describe, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { checkSignature, passingSigner } from '../../src/adapters/host/secret-files.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { canonicalJson } from '../../src/kernel/json.ts'
import { readGuardsAgain } from '../../src/observation/readings.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import {
  type BundleVerdict,
  bundleHeader,
  checkpointLine,
  createBundleVerifier,
  headerLine,
  lastLine,
  recordLine,
} from '../../src/runes/bundle.ts'
import { type Checkpoint, firstSignedText, signCheckpoint } from '../../src/runes/checkpoint.ts'
import { isErased } from '../../src/runes/erasure.ts'
import { hashedTexts, type Mark, type RuneHeader, type StoredRecord } from '../../src/runes/record.ts'
import { signRedaction } from '../../src/runes/redaction.ts'
import { type BadEvent, createVerifier } from '../../src/runes/verify.ts'
import { created, plain } from '../support/drafts.ts'
import { commitOf, piecesOf, relinked, withEntry } from '../support/records.ts'

const { sha256 } = hostPorts
const signer = passingSigner()
const session_id = 'ses_1'
let log: readonly StoredRecord[]

beforeAll(async () => {
  const runelog = openMemoryRunelog({ ...hostPorts, signer: () => signer })
  accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
  for (let i = 2; i <= 6; i++)
    accepted(await runelog.append({ session_id, runes: [plain('turn.assistant_delta', { content: `piece ${i}` })] }))
  await runelog.redact(session_id, 3, 'a slip', { principal: 'ann' })
  log = await Array.fromAsync(runelog.records(session_id))
})

const at = (event_id: number) => log[event_id - 1] as StoredRecord
const put = (event_id: number, change: object) => log.with(event_id - 1, { ...at(event_id), ...change })

function verified(records: readonly unknown[], marks: readonly Mark[] = []) {
  const ports = { sha256, check: checkSignature, isErased, trusted: [signer.public_key] }
  const verifier = createVerifier(session_id, ports, marks)
  let bad: BadEvent | undefined
  for (const record of records) bad ??= verifier.take(record)
  return { bad: bad ?? verifier.end(), redactions: verifier.redactions() }
}

/** An attacker with the database and without the key adds an event that is linked to the one before it. */
function linked(records: readonly StoredRecord[], kind: string, payload: object): readonly StoredRecord[] {
  const last = records.at(-1) as StoredRecord
  const [redaction] = piecesOf([at(7)])
  const header = { ...redaction?.header, kind, payload_sha256: '' } as RuneHeader
  const piece = { header, payload: canonicalJson({ ...payload }), salt: 'ab'.repeat(16) }
  return [...records, ...relinked([commitOf([piece], last.event_id + 1)], last.hash)]
}

describe('payload digest', () => {
  test('F-81 payload digest: characters cannot move between salt and payload', () => {
    const { salt, payload } = at(4)
    for (const moved of [
      { salt: `${salt}${payload}`, payload: '' },
      { salt: `${salt}{`, payload: payload.slice(1) },
      { salt: salt.slice(0, 31), payload: `${salt.slice(31)}${payload}` },
    ])
      expect(verified(put(4, moved)).bad).toMatchObject({ event_id: 4 })
  })

  test('F-81 payload digest: an unpaired surrogate does not pass for the replacement character', async () => {
    const runelog = openMemoryRunelog(hostPorts)
    accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
    accepted(await runelog.append({ session_id, runes: [plain('turn.assistant_delta', { content: '\ufffd' })] }))
    const [first, second] = await Array.fromAsync(runelog.records(session_id))
    const changed = { ...second, payload: second?.payload.replace('\ufffd', '\ud800') }
    expect(verified([first, changed]).bad).toEqual({
      event_id: 2,
      problem: 'its payload is not the one that was recorded.',
    })
  })
})

describe('redaction', () => {
  test('F-82 redaction: one that the key of the store signed is accepted, and listed with its principal', () => {
    expect(verified(log, [{ event_id: 5, hash: at(5).hash }])).toEqual({
      bad: undefined,
      redactions: [
        {
          event_id: 3,
          recorded_at: 7,
          reason: 'a slip',
          redacted_by: 'ann',
          public_key: signer.public_key,
          is_after_mark: true,
        },
      ],
    })
    expect(verified(log, [{ event_id: 7, hash: at(7).hash }]).redactions).toMatchObject([{ is_after_mark: false }])
  })

  test.each([
    ['another text', { content: 'forged' }],
    ['a field more', { content: '[redacted]', offset: 'forged' }],
    ['no JSON', null],
  ])('F-82 redaction: it leaves the marker and nothing else (%s)', (_, remains) => {
    const payload = remains === null ? 'forged' : canonicalJson(remains)
    const forged = put(4, { payload, salt: '' })
    const found = verified(
      linked(forged, 'rune.redacted', { event_id: 4, reason: 'r', remains_sha256: '0'.repeat(64) }),
    )
    expect(found.bad).toEqual({
      event_id: 4,
      problem: 'its payload was erased, and its remains are not what a redaction leaves.',
    })
  })

  test('redaction: remains that are no JSON are named at the erased event, also in a commit of several', async () => {
    const runelog = openMemoryRunelog({ ...hostPorts, signer: () => signer })
    const said = (content: string) => plain('turn.assistant_delta', { content })
    accepted(await runelog.append({ session_id, runes: [created(session_id), said('one'), said('two')] }))
    await runelog.redact(session_id, 3, 'a slip', { principal: 'ann' })
    const [first, ...rest] = await Array.fromAsync(runelog.records(session_id))
    const forged = { ...first, payload: first?.payload.replace('"[redacted]"', 'redacted') }
    const ports = { sha256, check: checkSignature, isErased, trusted: undefined, readAgain: readGuardsAgain }
    const verifier = createVerifier(session_id, ports)
    const [bad] = [forged, ...rest].flatMap((record) => verifier.take(record) ?? [])
    expect(bad).toEqual({
      event_id: 3,
      problem: 'its payload was erased, and its remains are not what a redaction leaves.',
    })
  })

  test('redaction: where no key of the store is present, the problem says so', () => {
    const ports = { sha256, check: checkSignature, isErased, trusted: [] }
    const verifier = createVerifier(session_id, ports)
    const [bad] = log.flatMap((record) => verifier.take(record) ?? [])
    expect(bad).toEqual({
      event_id: 3,
      problem: `the redaction in event 7 was signed with the key ${signer.public_key}, and no key of this store is here to compare it with.`,
    })
  })

  test('F-82 redaction: one that is not signed, or signed by another key, or for another event, does not count', () => {
    const payload = canonicalJson({ ...JSON.parse(at(4).payload), content: '[redacted]' })
    const erased = put(4, { payload, salt: '' })
    const [redaction] = piecesOf([at(7)])
    const statement = {
      session_id,
      event_id: 4,
      hash: at(4).hash,
      remains_sha256: sha256(hashedTexts.remains(payload)),
      blobs: [],
      reason: 'r',
      redacted_by: 'ann',
      at: redaction?.header.at ?? 0,
    }
    const judged = (signed: object) => verified(linked(erased, 'rune.redacted', signed)).bad
    const { event_id, reason, remains_sha256 } = statement
    expect(judged(signRedaction(statement, signer))).toBeUndefined()
    expect(judged({ event_id, reason, remains_sha256 })?.problem).toBe('the redaction in event 8 is not signed.')
    expect(judged(signRedaction(statement, passingSigner()))?.problem).toContain('which is not the key of this store')
    for (const other of [
      { hash: at(5).hash },
      { reason: 'x' },
      { redacted_by: 'bob' },
      { session_id: 'ses_2' },
      { blobs: ['blob_x'] },
    ])
      expect(
        judged({ ...signRedaction({ ...statement, ...other }, signer), reason, redacted_by: 'ann', blobs: [] }),
      ).toEqual({
        event_id: 4,
        problem: 'the signature of the redaction in event 8 does not fit what it says.',
      })
  })
})

describe('garbage', () => {
  const junk = [null, 1, 'x', [], {}, { event_id: 4 }, { ...{}, header: 1 }]

  test('F-95 verify: any value in the place of a record is named and not thrown', () => {
    for (const record of junk) expect(verified(log.with(3, record as StoredRecord)).bad).toMatchObject({ event_id: 4 })
    for (const header of ['', 'null', '[]', '1', '{}', '{"event_id":4}', at(4).header.replace('"at":', '"At":')])
      expect(verified(put(4, { header })).bad).toMatchObject({ event_id: 4 })
    for (const change of [{ salt: 7 }, { hash: null }, { payload: 5 }, { event_id: '4' }])
      expect(verified(put(4, change)).bad).toMatchObject({ event_id: 4 })
  })

  test('F-95 verify: a redaction that says nothing is named at its own event', () => {
    for (const payload of [{}, { event_id: 'x' }, { event_id: 3, reason: 1 }])
      expect(verified(linked(log, 'rune.redacted', payload)).bad).toEqual({
        event_id: 8,
        problem: 'it does not say what was redacted.',
      })
  })
})

describe('guards', () => {
  const start = { machine: 'turn', subject_id: 'trn_1', from: 'idle', to: 'streaming', trigger: 'start_turn' }
  const held = { because: 'It begins with input that was sent to the run.', guard: 'input', holds: true }

  function withMove(guards: unknown, change: object = {}) {
    const { machine, subject_id, from, trigger, to, ...rest } = { ...start, ...change }
    const move = [machine, from, trigger, to]
    const [last] = linked(log, 'turn.started', {}).slice(-1) as [StoredRecord]
    const header = withEntry(last.header, 0, { guards, move, subject_id, ...rest })
    return [...log, ...relinked([{ ...last, header }], at(7).hash)]
  }

  test('audit: a reading that is false is found and named, although the hashes fit', () => {
    expect(verified(withMove([held])).bad).toBeUndefined()
    expect(verified(withMove([{ ...held, holds: false, because: 'There is nothing to answer.' }])).bad).toEqual({
      event_id: 8,
      problem: 'its guard input did not hold: There is nothing to answer.',
    })
  })

  test('audit: a guarded move without its reading is found, and one with another reading, too', () => {
    for (const guards of [undefined, [{ ...held, guard: 'continue' }]])
      expect(verified(withMove(guards)).bad).toEqual({
        event_id: 8,
        problem: 'it records no reading of its guard input.',
      })
  })

  test('audit: a reading that no edge of the move has is found, and one that is recorded twice, too', () => {
    for (const more of [held, { because: 'I say so.', guard: 'approved_by_no_rule', holds: true }])
      expect(verified(withMove([held, more])).bad).toMatchObject({
        event_id: 8,
        problem: expect.stringContaining(`it has no guard ${more.guard} that holds`),
      })
  })

  test('audit: a reading of a guard that only another edge of the same kind of rune has is found', () => {
    const move = { machine: 'run', subject_id: 'run_1', from: 'running', to: 'succeeded', trigger: 'turn.succeeded' }
    const reading = { because: 'The session is active.', guard: 'session_is_active', holds: true }
    const found = verified(withMove([reading], { ...move, kind: 'run.moved' })).bad
    expect(found).toMatchObject({ problem: expect.stringContaining('it has no guard session_is_active that holds') })
  })

  test('audit: a move on another trigger, from another state, or of another machine is found', () => {
    for (const change of [{ trigger: 'foo' }, { from: 'streaming' }, { machine: 'run' }, { to: 'completed' }])
      expect(verified(withMove([held], change)).bad).toMatchObject({
        event_id: 8,
        problem: expect.stringMatching(/^no machine "\w+" declares /),
      })
  })

  test('audit: readings in another form than the canonical one are no header', () => {
    for (const guards of [[], {}, 'input', [held, 7], [{ ...held, more: 1 }], [{ ...held, holds: 'yes' }]])
      expect(verified(withMove(guards)).bad?.problem).toBe('its header is not the canonical JSON of a header.')
  })
})

describe('bundle', () => {
  const machines = { run: 'a'.repeat(64) }
  const header = bundleHeader(session_id, machines)
  const checkpoint = () => signCheckpoint({ session_id, event_id: 7, hash: at(7).hash, at: 1 }, signer)
  const bundle = () => [headerLine(header), ...log.map(recordLine), lastLine(header, checkpoint(), signer)]

  function judged(lines: readonly string[], trusted?: readonly string[]): BundleVerdict {
    const verifier = createBundleVerifier({ sha256, check: checkSignature, isErased, trusted })
    for (const line of lines) verifier.take(line)
    return verifier.end()
  }

  test('F-96 bundle: the list of machines is signed', () => {
    expect(judged(bundle())).toMatchObject({ bad: undefined, format: 2, events: 7 })
    const other = headerLine(bundleHeader(session_id, { run: 'b'.repeat(64) }))
    expect(judged(bundle().with(0, other)).bad?.problem).toContain('The signature of the bundle does not fit')
  })

  test('F-95 bundle: a checkpoint that is null or garbage is named', () => {
    for (const line of [
      '{"checkpoint":null}',
      '{"checkpoint":{}}',
      '{"checkpoint":7,"signature":"x"}',
      'null',
      '7',
      '',
    ])
      expect(judged(bundle().with(-1, line)).bad).toMatchObject({ event_id: 8 })
    for (const line of ['', 'null', '[]', '{"format":"statewright-bundle","version":2}'])
      expect(judged(bundle().with(0, line)).bad).toMatchObject({ event_id: 0 })
  })

  test('bundle: half of a surrogate pair in any text of the first line or the checkpoint is named, and nothing is thrown', () => {
    const half = (line: string | undefined) => line?.replaceAll('ses_1', '\\ud800') ?? ''
    const lines = bundle()
    expect(judged(lines.with(0, half(lines[0]))).bad).toMatchObject({ event_id: 0 })
    const name = lines[0]?.replace('"machines":{', '"machines":{"\\udc00":"",') ?? ''
    expect(judged(lines.with(0, name)).bad).toMatchObject({ event_id: 0 })
    expect(judged(lines.with(-1, half(lines.at(-1)))).bad).toMatchObject({ event_id: 8 })
  })

  test('bundle: a signature that is a list or an object makes the checkpoint unreadable', () => {
    const lines = bundle()
    for (const signature of ['[]', '{}'])
      expect(
        judged(lines.with(-1, lines.at(-1)?.replace(/"[0-9a-f]{128}"\}$/, `${signature}}`) ?? '')).bad,
      ).toMatchObject({
        event_id: 8,
      })
  })

  test('F-95 bundle: a line equals that of an export, to the character', () => {
    const lines = bundle()
    for (let i = 0; i < lines.length; i++)
      for (const change of [(line: string) => `${line} `, (line: string) => line.replace('"', ' "')])
        expect(judged(lines.with(i, change(lines[i] as string))).bad, lines[i]).toBeDefined()
    const upper = lines.at(-1)?.replace(/"signature":"[^"]*"/, (found) => found.toUpperCase()) ?? ''
    expect(judged(lines.with(-1, upper)).bad).toBeDefined()
  })

  test('F-82 bundle: a redaction that another key signed counts only if that key is trusted too', () => {
    const other = passingSigner()
    const mine: Checkpoint = signCheckpoint({ session_id, event_id: 7, hash: at(7).hash, at: 1 }, other)
    const lines = bundle().with(-1, lastLine(header, mine, other))
    expect(judged(lines).bad).toMatchObject({ event_id: 3 })
    expect(judged(lines, [other.public_key, signer.public_key]).bad).toBeUndefined()
  })

  test('F-81 bundle: a checkpoint of this format does not pass under the rules of 0.1', () => {
    const first = JSON.stringify({ ...header, version: 1 })
    expect(judged(bundle().with(0, first)).bad).toBeDefined()
    const { signature: _, ...statement } = checkpoint()
    const forged = { ...statement, signature: signer.sign(firstSignedText(statement)) }
    expect(judged(bundle().with(-1, checkpointLine(forged))).bad).toBeDefined()
  })
})
