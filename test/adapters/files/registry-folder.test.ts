import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { stringify } from 'yaml'
import { loadRegistry, readDocument } from '../../../src/adapters/files/documents.ts'
import { content, ports, registryOf } from '../../support/coordinator.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statewright-registry-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function write(name: string, text: string) {
  await mkdir(join(folder, name, '..'), { recursive: true })
  await writeFile(join(folder, name), text)
}

describe('registry folder: admission', () => {
  test('YAML and JSON, one entry a file or several, in folders or not, give the same snapshot', async () => {
    const [first, second, ...others] = content
    await write('a.yaml', [first, second].map((entry) => stringify(entry)).join('---\n'))
    for (const [i, entry] of others.entries())
      await write(
        i % 2 === 0 ? `deep/er/${i}.json` : `${i}.yml`,
        i % 2 === 0 ? JSON.stringify(entry) : stringify(entry),
      )
    await write('README.md', 'Not content.')
    expect(await loadRegistry(folder, ports)).toEqual({ admitted: true, snapshot: registryOf() })
  })

  test.each(['? {shell: rm}\n: x', '? [shell]\n: x', 'a: &k shell\n*k : x'])(
    'F-49 YAML: a key that is no scalar is refused by its place, and Node warns of nothing: %j',
    async (text) => {
      const warned = vi.spyOn(process, 'emitWarning')
      await write('keys.yaml', `${text}\n`)
      expect(await loadRegistry(folder, ports)).toMatchObject({
        admitted: false,
        problems: [
          { path: 'keys.yaml', message: expect.stringMatching(/^A key must be a text, .* at line \d, column \d$/) },
        ],
      })
      await expect(readDocument(join(folder, 'keys.yaml'))).rejects.toThrow(/keys\.yaml .*A key must be a text/)
      expect(warned).not.toHaveBeenCalled()
      warned.mockRestore()
    },
  )

  test('a file that cannot be read is named beside those that were refused', async () => {
    await write('broken.yaml', 'kind: [rule\n')
    await write('empty.yaml', '')
    await write('twice.yaml', 'kind: agent\nkind: rule\n')
    await write('wrong.json', '{"kind":"rule"}')
    const admission = await loadRegistry(folder, ports)
    expect(admission.admitted).toBe(false)
    const names = admission.admitted ? [] : admission.problems.map(({ path }) => path?.split('.')[0])
    expect(new Set(names)).toEqual(new Set(['broken', 'empty', 'twice', 'wrong']))
  })
})
