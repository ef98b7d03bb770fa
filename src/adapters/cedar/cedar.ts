import { loadPeer } from '../peer.ts'

/** Cedar is a megabyte of WebAssembly, and loads it from a file of its own. */
export const cedar = await loadPeer('@cedar-policy/cedar-wasm/nodejs')
