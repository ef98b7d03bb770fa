import type { ReadModel } from '../read-model.ts'
import { claims } from './claims.ts'
import { epochs } from './epochs.ts'
import { requests } from './requests.ts'
import { sessions } from './sessions.ts'
import { subjects } from './subjects.ts'

const builtIn: readonly ReadModel[] = [subjects, sessions, epochs, claims, requests]

/** The models of a store, the gate first: what it refuses, no other model sees. */
export function allModels(added: readonly ReadModel[] = []): readonly ReadModel[] {
  const models = [...builtIn, ...added]
  const twice = models.find((model, i) => models.findIndex((m) => m.name === model.name) !== i)
  if (twice !== undefined) throw new TypeError(`Two read models are called ${twice.name}.`)
  return models
}
