import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly optional?: boolean
}

const lockfile = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>
}

/**
 * Builds of development tools for other platforms, whose integrity is not known
 * here: the registry that the lockfile was made with has no such version. Where
 * npm installs one of them it asks its own registry. This list only gets shorter.
 */
const unknown: Readonly<Record<string, readonly string[]>> = {
  '@biomejs/cli-* 2.6.6': [
    'android-arm64',
    'android-x64',
    'darwin-arm64',
    'darwin-x64',
    'linux-arm64-musl',
    'linux-x64-musl',
    'win32-arm64',
    'win32-x64',
  ],
  '@rolldown/binding-* 1.2.19': [
    'android-arm-eabi',
    'android-arm64',
    'darwin-arm64',
    'darwin-x64',
    'freebsd-x64',
    'linux-arm-gnueabihf',
    'linux-arm64-gnu',
    'linux-arm64-musl',
    'linux-ppc64-gnu',
    'linux-s390x-gnu',
    'linux-x64-musl',
    'openharmony-arm64',
    'wasm32-wasi',
    'win32-arm64-msvc',
    'win32-x64-msvc',
  ],
  '@swc/core-* 1.16.22': [
    'darwin-arm64',
    'darwin-x64',
    'linux-arm-gnueabihf',
    'linux-arm64-musl',
    'linux-ppc64-gnu',
    'linux-s390x-gnu',
    'linux-x64-musl',
    'win32-arm64-msvc',
    'win32-ia32-msvc',
    'win32-x64-msvc',
  ],
}

test('F-96 lockfile: every package has an integrity, but for builds of development tools for other platforms', () => {
  const known = Object.entries(unknown).flatMap(([pattern, platforms]) =>
    platforms.map((platform) => pattern.replace('*', platform)),
  )
  const without = Object.entries(lockfile.packages).filter(
    ([path, { integrity, link }]) => path !== '' && link !== true && integrity === undefined,
  )
  const named = without.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`)
  expect(named.filter((name) => !known.includes(name))).toEqual([])
  expect(known.filter((name) => !named.includes(name))).toEqual([])
  expect(without.filter(([, { optional }]) => optional !== true)).toEqual([])
})
