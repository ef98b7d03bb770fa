import { hash } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scanProject } from '../../../src/adapters/facts/project-folder.ts'
import { factsOf } from '../../../src/coordinator/facts.ts'
import { factPack } from '../../../src/coordinator/schemas/context.ts'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'

const sha256 = (text: string) => hash('sha256', text)
const files: Readonly<Record<string, string>> = {
  'package.json': '{\n  "name": "shop",\n  "scripts": {\n    "build": "tsc",\n    "test": "vitest"\n  }\n}\n',
  'src/order.ts': 'export const total = 1\n',
  'src/odd.ts': `x${'𝒳'.repeat(300)}
`,
  'test/order.test.ts': 'test()\n',
  'tools/run.py': 'pass\n',
  '.github/workflows/ci.yml': 'on: push\n',
  CODEOWNERS: '# who\n\n/src @backend @leads # here\n*\n',
  'sub/Cargo.toml': '[package]\n',
  'sub/package.json': 'not json',
}

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statewright-facts-'))
  for (const [path, text] of Object.entries({ ...files, 'node_modules/x/index.js': 'no', '.git/config': 'no' })) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await symlink('/', join(folder, 'everything'))
  await writeFile(join(folder, 'data.bin'), Buffer.from([0, 1, 2]))
})
afterEach(() => rm(folder, { recursive: true }))

describe('project facts: a scan', () => {
  test('finds languages, manifests, scripts, pipelines, tests and owners, each with file and line', async () => {
    const facts = await scanProject(folder, 'shop', sha256)
    expect(factPack.safeParse(facts).error).toBeUndefined()
    expect(facts.languages.map(({ name, files }) => [name, files])).toEqual([
      ['Python', 1],
      ['TypeScript', 3],
    ])
    expect(facts.manifests.map(({ path, ecosystem }) => [path, ecosystem])).toEqual([
      ['package.json', 'npm'],
      ['sub/Cargo.toml', 'cargo'],
      ['sub/package.json', 'npm'],
    ])
    expect(facts.scripts.map(({ name, runs }) => [name, runs])).toEqual([
      ['build', 'tsc'],
      ['test', 'vitest'],
    ])
    expect(facts.ci).toMatchObject([{ path: '.github/workflows/ci.yml', system: 'github_actions' }])
    expect(facts.tests).toMatchObject([{ path: 'test/order.test.ts' }])
    expect(facts.owners).toMatchObject([{ pattern: '/src', owners: ['@backend', '@leads'] }])
    const cited = (ref: string | undefined) => facts.evidence.find(({ id }) => id === ref)
    expect(cited(facts.scripts[1]?.evidence_refs[0])).toMatchObject({
      source_file: 'package.json',
      line: 5,
      snippet: '"test": "vitest"',
    })
    // A snippet that ends in the middle of a character would have no checksum.
    expect(cited(facts.languages[1]?.evidence_refs[0])).toMatchObject({ source_file: 'src/odd.ts' })
    expect(canonicalJson(facts as unknown as Json)).toContain('𝒳')
    expect(cited(facts.owners[0]?.evidence_refs[0])).toMatchObject({ source_file: 'CODEOWNERS', line: 3 })
  })

  test('is the same for every order and repetition, and changes with any byte', async () => {
    const facts = await scanProject(folder, 'shop', sha256)
    expect(canonicalJson((await scanProject(folder, 'shop', sha256)) as unknown as Json)).toBe(
      canonicalJson(facts as unknown as Json),
    )
    const sources = Object.entries(files).map(([path, text]) => ({ path, text }))
    expect(factsOf('shop', sources.toReversed(), sha256)).toEqual(factsOf('shop', sources, sha256))
    await writeFile(join(folder, 'src/order.ts'), 'export const total = 2\n')
    expect((await scanProject(folder, 'shop', sha256)).repo_fingerprint).not.toBe(facts.repo_fingerprint)
  })

  test('facts: scripts of a manifest that JSON cannot express are left out, and the fact pack keeps its checksum', async () => {
    for (const text of [
      '{"scripts":{"build":"\\ud800"}}',
      `{"scripts":{"build":"tsc"},"a":${'['.repeat(5_000)}`,
      'null',
      '[]',
    ]) {
      await writeFile(join(folder, 'package.json'), text)
      const facts = await scanProject(folder, 'shop', sha256)
      expect([facts.scripts, facts.manifests.length]).toEqual([[], 3])
      expect(() => canonicalJson(facts as unknown as Json)).not.toThrow()
    }
  })

  test('neither follows links out of the folder nor reads generated and installed files', async () => {
    const facts = await scanProject(folder, 'shop', sha256)
    expect(facts.evidence.some(({ source_file }) => /node_modules|\.git\/|everything/.test(source_file))).toBe(false)
  })
})
