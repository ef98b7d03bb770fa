import { faults } from '../faults/catalogue.ts'

/** The modules that are loaded on first use. All but `yaml` are optional peers of the package. */
interface Modules {
  readonly pg: typeof import('pg')
  readonly 'graphile-worker': typeof import('graphile-worker')
  readonly '@cedar-policy/cedar-wasm/nodejs': typeof import('@cedar-policy/cedar-wasm/nodejs')
  readonly '@modelcontextprotocol/client': typeof import('@modelcontextprotocol/client')
  readonly '@modelcontextprotocol/client/stdio': typeof import('@modelcontextprotocol/client/stdio')
  readonly yaml: typeof import('yaml')
}

const cedar = { install: '@cedar-policy/cedar-wasm@^4.13.0', use: 'Rules and conditions of plans and goals' }
const mcp = { install: '@modelcontextprotocol/client@^2.4.0', use: 'An MCP server in the config' }

/** What to install, with the range of `package.json`, and what it is for. */
export const peers: { readonly [M in keyof Modules]: { readonly install: string; readonly use: string } } = {
  pg: { install: 'pg@^8.23.1', use: 'A PostgreSQL store' },
  'graphile-worker': { install: 'graphile-worker@^0.18.0', use: 'A PostgreSQL store' },
  '@cedar-policy/cedar-wasm/nodejs': cedar,
  '@modelcontextprotocol/client': mcp,
  '@modelcontextprotocol/client/stdio': mcp,
  yaml: { install: 'yaml@^2.9.1', use: 'A registry, an intent or a policy in YAML' },
}

/**
 * Loads a module on first use. A package that is not installed is refused with `package_missing`.
 *
 * The name is not written in `import()`, so that a bundler leaves the module where it is: some of these packages load
 * files of their own, and some are CommonJS, which does not run inside an ESM bundle.
 */
export async function loadPeer<M extends keyof Modules>(name: M): Promise<Modules[M]> {
  const specifier: string = name
  try {
    return await import(/* @vite-ignore */ specifier)
  } catch (error) {
    const { install, use } = peers[name]
    const named = install.slice(0, install.lastIndexOf('@'))
    if (isMissing(error, named)) throw faults.package_missing({ package: named, install, use }, { cause: error })
    throw error
  }
}

/** A package that is there and misses a part of its own is broken, not missing. */
function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    Object(error).code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes(`package '${name}'`)
  )
}
