import { hash, timingSafeEqual } from 'node:crypto'
import { faults } from '../faults/catalogue.ts'
import type { Scope } from '../surface/operation.ts'

/** Who may ask, and for what. Only the digest of the secret is kept. */
export interface Token {
  /** What it is recorded under when it answers a question. */
  readonly name: string
  readonly scope: Scope
  readonly sha256: string
}

/** A token as the server keeps it: the secret only as its hash. */
export function tokenOf(name: string, scope: Scope, secret: string): Token {
  return { name, scope, sha256: hash('sha256', secret) }
}

/** Finds the token of a request. All of them are compared, each in constant time: how long it takes tells nothing. */
export function createGatekeeper(tokens: readonly Token[]) {
  const known = tokens.map((token) => ({ token, digest: Buffer.from(token.sha256, 'hex') }))

  return (authorization: string | undefined): Token => {
    if (authorization === undefined) throw faults.token_missing({ problem: 'The request has no token.' })
    const [, secret = ''] = /^Bearer ([\w.~+/=-]{1,500})$/i.exec(authorization) ?? []
    const digest = hash('sha256', secret, 'buffer')
    let found: Token | undefined
    for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one.token
    if (secret === '' || found === undefined)
      throw faults.token_missing({ problem: 'The token of the request is none that this server knows.' })
    return found
  }
}
