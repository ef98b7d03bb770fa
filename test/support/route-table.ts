import type { Access } from '../../src/server/guard.ts'
import { otherRoutes, streamRoutes } from '../../src/server/routes.ts'
import type { Streams } from '../../src/server/streams/streams.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { consoleAddresses } from '../../src/wire/console-addresses.ts'

/** A route as it is declared: the request, and its scope. */
export interface DeclaredRoute {
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** With its parameters in braces. */
  readonly path: string
  readonly access: Access
  /** HEAD is answered, too. */
  readonly hasHead: boolean
}

/** Every route that a server has, read from the declarations; `files` are those of the built console. */
export function routeTable(files: readonly string[]): readonly DeclaredRoute[] {
  // Only what streams say about themselves is read here; none is opened.
  const streams = streamRoutes({} as Streams)
  return [
    ...operations.map(({ name, method, path, scope }) => ({
      name,
      method,
      path,
      access: scope,
      hasHead: method === 'GET',
    })),
    ...streams.map(({ name, path, scope }) => ({ name, method: 'GET' as const, path, access: scope, hasHead: true })),
    ...Object.values(otherRoutes).map(({ name, path, scope }) => ({
      name,
      method: 'GET' as const,
      path,
      access: scope ?? ('open' as const),
      hasHead: name !== 'export_bundle',
    })),
    ...[...consoleAddresses, ...files].map((path) => ({
      name: `page ${path}`,
      method: 'GET' as const,
      path: path.replaceAll(/:(\w+)/g, '{$1}'),
      access: 'page' as const,
      hasHead: true,
    })),
  ]
}

export interface Resolved {
  readonly route: DeclaredRoute
  /** The path that was asked for, in its normal form. */
  readonly path: string
}

/**
 * Which route a request is for by RFC 3986 and the declarations alone, read
 * independently of the router: only escaped letters, digits and `-._~` are the
 * same as plain ones, and nothing else is normalised. Undefined: none.
 */
export function resolveRoute(routes: readonly DeclaredRoute[], method: string, target: string): Resolved | undefined {
  if (!target.startsWith('/') || target.includes('#')) return undefined
  const [raw = ''] = target.split('?', 1)
  const path = raw.replaceAll(/%[0-9a-f]{2}/gi, (escaped) => {
    const char = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
    return /[\w.~-]/.test(char) ? char : escaped
  })
  const fits = routes.filter(
    (route) =>
      (route.method === method || (method === 'HEAD' && route.hasHead)) &&
      new RegExp(`^${route.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '\\w[\\w.:-]{0,199}')}$`).test(path),
  )
  // A path without parameters comes before one that has a parameter there.
  const route = fits.find((one) => !one.path.includes('{')) ?? fits[0]
  return route === undefined ? undefined : { route, path }
}
