import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { peers } from '../../src/adapters/peer.ts'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
}
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest

test('peers: each module that is loaded on first use is an optional peer in the range that its sentence names', () => {
  const asked = new Set(Object.values(peers).flatMap(({ install }) => install.split(' ')))
  const optional = Object.entries(manifest.peerDependencies).filter(
    ([name]) => manifest.peerDependenciesMeta[name]?.optional,
  )
  const yaml = `yaml@^${manifest.dependencies.yaml}`
  expect([...asked].toSorted()).toEqual([...optional.map(([name, range]) => `${name}@${range}`), yaml].toSorted())
})
