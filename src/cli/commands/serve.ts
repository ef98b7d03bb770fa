import { faults } from '../../faults/catalogue.ts'
import type { Arguments, Command } from '../command.ts'
import { untilStopped } from '../until-stopped.ts'
import { countOf } from '../usage.ts'
import { whereOptions } from '../with-client.ts'
import { take } from '../with-store.ts'

export const serveCommand: Command = {
  name: 'serve',
  usage: 'statewright serve [--config FILE] [--store URL] [--host HOST] [--port PORT]',
  summary: 'Serve a store over HTTP, and work on its runs, until told to stop.',
  options: {
    config: { type: 'string', summary: 'what to serve; else ./statewright.config.ts' },
    store: whereOptions.store,
    host: { type: 'string', summary: 'where to listen; else 127.0.0.1, which only this machine reaches' },
    port: { type: 'string', summary: 'the port; else 4400 or, if that is taken, a free one' },
    'allow-host': { type: 'string', summary: 'more names that the server is called by, separated by commas' },
    'tls-cert': { type: 'string', summary: 'a certificate in PEM; needed to be reached from other machines' },
    'tls-key': { type: 'string', summary: 'its key in PEM' },
    'allow-plain-http': { type: 'boolean', summary: 'let others reach it without TLS: something in front encrypts' },
    quiet: { type: 'boolean', summary: 'log what goes wrong, and not every request' },
  },

  async run(args, { host, out, err, terminal }) {
    take(this, args, 0)
    const { values } = args
    const server = await host.startServer(
      {
        config: values.config as string | undefined,
        store: values.store as string | undefined,
        host: values.host as string | undefined,
        port: countOf(this, args, 'port', [0, 65_535]),
        hosts: ((values['allow-host'] as string | undefined) ?? '').split(',').filter((name) => name !== ''),
        tls: tlsOf(this, args),
        is_quiet: values.quiet === true,
        allow_plain_http: values['allow-plain-http'] === true,
      },
      { tell: () => {}, warn: err },
    )
    const { url, agents, new_token, token_file } = server
    out(`Serving ${agents.join(', ')} on ${url}`)
    // What is not a terminal may be a log, which others read.
    const isShown = new_token !== null && terminal.isScreen
    if (isShown) out(`Open ${url}/#token=${new_token}`)
    if (token_file !== null)
      out(isShown ? `The token is shown once; it is kept in ${token_file}` : `The token is in ${token_file}`)
    else if (!isShown)
      out('The token of this store is shown in a terminal only; name others in server.tokens of the config.')

    return untilStopped(server, { host, out, err })
  },
}

function tlsOf({ usage }: Command, { values }: Arguments) {
  const cert = values['tls-cert'] as string | undefined
  const key = values['tls-key'] as string | undefined
  if (cert !== undefined && key !== undefined) return { cert, key }
  if (cert === undefined && key === undefined) return undefined
  throw faults.bad_usage({ problem: 'A certificate and its key are given together.', usage })
}
