import { loadPeer } from '../peer.ts'

/** The MCP client, loaded when the config names the first server. */
export const { Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError, StreamableHTTPClientTransport } =
  await loadPeer('@modelcontextprotocol/client')
export const { StdioClientTransport } = await loadPeer('@modelcontextprotocol/client/stdio')
/** The client of the MCP SDK. */
export type Client = InstanceType<typeof Client>
