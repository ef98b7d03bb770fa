import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** In a process that is started with this, `statewright` means the sources of this checkout, as it does in the tests. */
const root = new URL('../../../', import.meta.url)
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

registerHooks({
  resolve(specifier, context, next) {
    const entry = /^statewright(\/|$)/.test(specifier)
      ? exports[`.${specifier.slice('statewright'.length)}`]
      : undefined
    if (entry === undefined) return next(specifier, context)
    const source = entry.default.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts')
    return next(new URL(source, root).href, context)
  },
})
