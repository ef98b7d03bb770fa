import { claimOwnFile } from './adapters/workspace/own-files.ts'

/** Where the owner's token of a store is, for a server and for a command that asks it. */
export function tokenFileOf(store: string): string {
  return claimed(store.startsWith('sqlite:') ? `${store.slice('sqlite:'.length)}.token` : './statewright.token')
}

/** Where the key is that signs for a store. */
export function keyFileOf(store: string): string {
  const { STATEWRIGHT_KEY: key = './statewright.key' } = process.env
  return claimed(store.startsWith('sqlite:') ? `${store.slice('sqlite:'.length)}.key` : key)
}

/** No tool of a workspace may touch it. */
function claimed(file: string): string {
  claimOwnFile(file)
  return file
}
