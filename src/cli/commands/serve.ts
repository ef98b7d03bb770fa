import type { Fault } from '../../faults/fault.ts'
import { isoTime } from '../../kernel/instant.ts'
import type { Rune } from '../../runes/rune.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import { defaultConfigFile, defaultHost, defaultPort, type Working } from '../../surface/wiring.ts'
import { command } from '../command.ts'
import { exitFor, exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { flag, text, whereOptions } from '../options.ts'

/** The command `serve`. */
export const serveCommand = command({
  usage: 'statewright serve [--config FILE] [--store URL] [--host HOST] [--port PORT]',
  summary: 'Serve a store over HTTP, and work on its runs, until stopped.',
  options: {
    config: text(`the config file. Default: ${defaultConfigFile}`),
    store: whereOptions.store,
    host: text(`the address to listen on. Default: ${defaultHost}, which only this machine reaches`),
    port: text(`the port. Default: ${defaultPort}, or a free one if that is taken`),
    'allow-host': text('more names for the Host header, separated by commas'),
    'tls-cert': text('a certificate in PEM; other machines need it to connect'),
    'tls-key': text('its key in PEM'),
    'allow-plain-http': flag('accept other machines without TLS, because a proxy in front uses TLS'),
    quiet: flag('log problems only, and not every request'),
  },
  async run({
    values: { 'tls-cert': cert, 'tls-key': key, 'allow-host': hosts = '', config, store, ...values },
    ...call
  }) {
    if ((cert === undefined) !== (key === undefined)) throw call.refuse('A certificate and its key are given together.')
    const { host, out, err, terminal } = call.io
    const asked = withoutUndefined({
      host: values.host,
      port: call.count('port', [0, 65_535]),
      hosts: hosts.split(',').filter((name) => name !== ''),
      tls: cert === undefined || key === undefined ? undefined : { cert, key },
      quiet: values.quiet,
      allowPlainHttp: values['allow-plain-http'],
    })
    const server = await host.startServer({ config, store, ...asked }, { onRune: () => {}, warn: err })
    const { url, agents, new_token, token_file } = server
    out(`Serving ${agents.join(', ')} on ${url}`)
    // Output that is not a terminal may be a log that others read.
    const isShown = new_token !== null && terminal.isScreen
    if (isShown) out(`Open ${url}/#token=${new_token}`)
    if (token_file !== null)
      out(isShown ? `The token is shown once; it is kept in ${token_file}` : `The token is in ${token_file}`)
    else if (!isShown)
      out('The token of this store is shown in a terminal only; name others in server.tokens of the config.')
    return untilStopped(server, call.io)
  },
})

/** The command `worker`. */
export const workerCommand = command({
  usage: 'statewright worker [--config FILE] [--store URL]',
  summary: 'Work on the runs of a store until stopped. On PostgreSQL, any number of workers share them.',
  options: {
    config: text(`the config file. Default: ${defaultConfigFile}`),
    store: whereOptions.store,
  },
  async run({ values: { config, store }, io }) {
    const { host, out, err } = io
    const onRune = (rune: Rune) => {
      const line = lineOf(rune)
      if (line !== undefined) out(line)
    }
    const worker = await host.startWorker({ config, store }, { onRune, warn: err })
    const { agents, max_concurrent_runs, is_shared } = worker
    out(`Working with ${agents.join(', ')}: at most ${max_concurrent_runs} runs at once.`)
    if (!is_shared) out('No other process can work on this store meanwhile.')
    return untilStopped(worker, io)
  },
})

/** The line for a move of a run. Its content is left to the log, which has access rules. */
function lineOf(rune: Rune): string | undefined {
  if (rune.kind !== 'run.moved' && rune.kind !== 'run.submitted') return undefined
  const when = isoTime(rune.at)
  if (rune.kind === 'run.submitted') return `${when} ${rune.run_id} of ${rune.session_id}: submitted`
  const { attempt, error_code } = rune.payload
  const more = [attempt === undefined ? '' : `, attempt ${attempt}`, error_code === undefined ? '' : `, ${error_code}`]
  return `${when} ${rune.run_id} of ${rune.session_id}: ${rune.from} → ${rune.to} (${rune.trigger})${more.join('')}`
}

/** How long a process whose store is broken may take to release its runs. */
const stop_ms = 3_000

/** Waits for a signal, and stops in order. If the store breaks, work that cannot be recorded is not awaited. */
async function untilStopped({ broken, stop }: Pick<Working, 'broken' | 'stop'>, { host, out, err }: Io) {
  const why = await Promise.race([host.untilSignal(), broken])
  if (typeof why !== 'string') return leave(why, stop())
  out(`${why}: releasing the runs under way.`)
  const stopping = stop()
  const fault = await Promise.race([broken, stopping.then(() => undefined)])
  if (fault !== undefined) return leave(fault, stopping)
  out('Stopped.')
  return exits.ok

  async function leave(fault: Fault, stopping: Promise<void>): Promise<number> {
    err(fault.message)
    await host.within(stop_ms, () => stopping)
    return exits[exitFor(fault)]
  }
}
