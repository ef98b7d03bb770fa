import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { measuredBy } from '../support/child.ts'
import { benchPostgres } from '../support/postgres.ts'
import { benchRestate } from '../support/restate.ts'
import type { Peer } from './peers.ts'

export interface PeerMeasured {
  /** Milliseconds of a step by the clock. */
  readonly clock_ms: number
  /** Milliseconds of processor time of a step, in its process and in the server that it needs. */
  readonly processor_ms: number
  readonly server_ms: number
}

export interface Sizes {
  readonly steps: number
  readonly warm: number
}

/** The servers that some peers need, started once for all rounds. */
export async function openPeers(
  peers: readonly Peer[],
  places: { readonly folder: string; readonly file: () => string },
) {
  const needs = (server: Peer['server']) => peers.some((peer) => peer.server === server)
  const postgres = needs('postgres') ? await benchPostgres() : undefined
  const restate = needs('restate') ? await benchRestate(mkdtempSync(join(places.folder, 'restate-'))) : undefined
  let databases = 0
  const database = async () => (await postgres?.database(`peer_${++databases}`)) ?? ''
  const serverTime = ({ server }: Peer) =>
    (server === 'postgres' ? postgres?.processorTime() : server === 'restate' ? restate?.processorTime() : 0) ?? 0

  return {
    async measure(peer: Peer, { steps, warm }: Sizes): Promise<PeerMeasured> {
      const count = Math.min(steps, peer.most ?? steps)
      const input = await peer.input({ file: places.file, restate, database })
      const before = serverTime(peer)
      const script = `bench/peers/${peer.script}`
      const { clock_ms, processor_ms } = measuredBy<{ clock_ms: number; processor_ms: number }>(script, {
        ...input,
        steps: count,
        warm: Math.min(count, warm),
      })
      return {
        clock_ms: clock_ms / count,
        processor_ms: processor_ms / count,
        server_ms: (serverTime(peer) - before) / (count + Math.min(count, warm)),
      }
    },
    async close() {
      await postgres?.stop()
      await restate?.stop()
    },
  }
}
