import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { planArguments } from '../../../scripts/plan-examples.ts'
import { readKey, readPublicKey } from '../../../src/app/open-plans.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { runCli } from '../../support/run-cli.ts'
import { temporaryFolder } from '../../support/temporary.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const rsa = (): Pair => generateKeyPairSync('rsa', { modulusLength: 1024 })

/** Every other kind of key that signs or agrees on something. */
const others: Readonly<Record<string, () => Pair>> = {
  rsa,
  'rsa-pss': () => generateKeyPairSync('rsa-pss', { modulusLength: 1024 }),
  ec: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed448: () => generateKeyPairSync('ed448'),
  x25519: () => generateKeyPairSync('x25519'),
}

function written(name: string, key: KeyObject): string {
  const file = join(folder, name)
  writeFileSync(file, key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }))
  return file
}

const refusal = (type: string) => ({
  code: 'file_unusable',
  message: expect.stringMatching(`no Ed25519 key .*of type ${type}.*genpkey -algorithm ed25519`),
})

test.each(Object.entries(others))(
  'signing keys: a key of type %s is refused, its private and its public half',
  async (type, make) => {
    const pair = make()
    const files = [written('private.pem', pair.privateKey), written('public.pem', pair.publicKey)] as const
    await expect(readKey(files[0])).rejects.toMatchObject(refusal(type))
    for (const file of files) await expect(readPublicKey(file)).rejects.toMatchObject(refusal(type))
  },
)

test('signing keys: an Ed25519 key signs, and each half verifies; a public half does not sign', async () => {
  const pair = generateKeyPairSync('ed25519')
  const [own, shared] = [written('private.pem', pair.privateKey), written('public.pem', pair.publicKey)]
  const { signer } = await readKey(own)
  const bytes = new TextEncoder().encode('a plan')
  for (const file of [own, shared]) {
    const check = await readPublicKey(file)
    expect([check.keyid, check.verify(bytes, signer.sign(bytes))]).toEqual([signer.keyid, true])
  }
  await expect(readKey(shared)).rejects.toMatchObject({ code: 'file_unusable' })
})

test('signing keys: a config whose key cannot sign is refused before a store is opened', async () => {
  const signingKey = written('rsa.pem', rsa().privateKey)
  const store = join(folder, 'plans.db')
  const options = {
    store: `sqlite:${store}`,
    agents: { main: agent({ role: 'helper', model: scriptedModel([]) }) },
    plans: { signingKey },
  }
  await expect(createStatewright(options)).rejects.toMatchObject(refusal('rsa'))
  expect(existsSync(store)).toBe(false)
})

test('signing keys: the command line refuses an RSA key that signs, verifies, or is for a store', async () => {
  const pair = rsa()
  const key = ['--key', written('rsa.pem', pair.privateKey)]
  const [plan, store] = [join(folder, 'plan'), join(folder, 'plans.db')]
  const told = { exit: 1, err: expect.stringContaining('no Ed25519 key') }
  expect(await runCli([...planArguments('read-only', plan), ...key])).toMatchObject(told)
  expect(await runCli(['plan', 'verify', 'examples/plans/read-only/frozen', ...key])).toMatchObject(told)
  const verifying = ['--key', written('rsa.pub.pem', pair.publicKey)]
  expect(await runCli(['plan', 'verify', 'examples/plans/read-only/frozen', ...verifying])).toMatchObject(told)
  const intent = 'examples/plans/read-only/intent.yaml'
  expect(await runCli(['plan', intent, '--store', `sqlite:${store}`, ...key])).toMatchObject(told)
  expect([plan, store].map((path) => existsSync(path))).toEqual([false, false])
})
