import { faults } from '../faults/catalogue.ts'

/** The modules that are loaded on first use. All but `yaml` are optional peers of the package. */
export interface Modules {
  readonly pg: typeof import('pg')
  readonly 'graphile-worker': typeof import('graphile-worker')
  readonly '@cedar-policy/cedar-wasm/nodejs': typeof import('@cedar-policy/cedar-wasm/nodejs')
  readonly '@modelcontextprotocol/client': typeof import('@modelcontextprotocol/client')
  readonly '@modelcontextprotocol/client/stdio': typeof import('@modelcontextprotocol/client/stdio')
  readonly yaml: typeof import('yaml')
}

const postgres = { install: 'pg@^8.23.1 graphile-worker@^0.18.0', use: 'A PostgreSQL store' }
const cedar = { install: '@cedar-policy/cedar-wasm@^4.13.0', use: 'The rule engine of plans and goals' }
const mcp = { install: '@modelcontextprotocol/client@^2.4.0', use: 'An MCP server in the config' }

/** The package of each module, what to install in the ranges of `package.json`, and what needs it. */
export const peers = {
  pg: { name: 'pg', ...postgres },
  'graphile-worker': { name: 'graphile-worker', ...postgres },
  '@cedar-policy/cedar-wasm/nodejs': { name: '@cedar-policy/cedar-wasm', ...cedar },
  '@modelcontextprotocol/client': { name: '@modelcontextprotocol/client', ...mcp },
  '@modelcontextprotocol/client/stdio': { name: '@modelcontextprotocol/client', ...mcp },
  yaml: { name: 'yaml', install: 'yaml@^2.9.1', use: 'A file in YAML' },
} as const satisfies Record<keyof Modules, object>

/**
 * Loads a module on first use; `package_missing` if it is not installed. A bundler must not see the name in `import()`:
 * some of these packages load files of their own or are CommonJS.
 */
export async function loadPeer<M extends keyof Modules>(name: M): Promise<Modules[M]> {
  const specifier: string = name
  try {
    return await import(/* @vite-ignore */ specifier)
  } catch (error) {
    const { name: named, install, use } = peers[name]
    const { code, message } = Object(error)
    // A package that is installed but lacks a file of its own is broken, not missing. One without the module is too old.
    const isMissing =
      code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' ||
      (code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`package '${named}'`))
    throw isMissing ? faults.package_missing({ package: named, install, use }, { cause: error }) : error
  }
}
