import { loadPeer } from '../peer.ts'

/** The client of the MCP SDK. */
export type Sdk = Awaited<ReturnType<typeof loadSdk>>

/** Loads the MCP client: only a config that names a server needs it. */
export async function loadSdk() {
  const client = await loadPeer('@modelcontextprotocol/client')
  return { ...client, ...(await loadPeer('@modelcontextprotocol/client/stdio')) }
}
