import type { Scope } from '../surface/operation.ts'

/** Something that answers with neither an operation's JSON nor a stream of events. */
export interface OtherRoute {
  readonly name: string
  readonly path: `/${string}`
  readonly summary: string
  /** Null where anyone may ask. */
  readonly scope: Scope | null
  readonly content_type: string
}

/** The log of a session as a file that proves itself. */
export const exportBundle: OtherRoute = {
  name: 'export_bundle',
  path: '/api/sessions/{session_id}/bundle',
  scope: 'admin',
  summary: 'A session as a file that proves itself, hidden runes included: every record, and a signed checkpoint.',
  content_type: 'application/x-ndjson',
}

/** The OpenAPI document of this server. */
export const getOpenApi: OtherRoute = {
  name: 'get_openapi',
  path: '/api/openapi.json',
  scope: 'read',
  summary: 'This document.',
  content_type: 'application/json',
}

/** Whether the process answers. */
export const healthz: OtherRoute = {
  name: 'healthz',
  path: '/healthz',
  scope: null,
  summary: 'The process is there.',
  content_type: 'application/json',
}

/** Whether the process can take work. */
export const readyz: OtherRoute = {
  name: 'readyz',
  path: '/readyz',
  scope: null,
  summary: 'The store answers and the process takes requests.',
  content_type: 'application/json',
}

/** The routes that are neither operations nor streams. */
export const otherRoutes: readonly OtherRoute[] = [exportBundle, getOpenApi, healthz, readyz]
