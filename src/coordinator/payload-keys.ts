import { looksLike, withoutInvisible } from './look-alikes.ts'

/** Names under which something to execute travels. */
// biome-ignore format: a list of words
export const payloadNames = [
  'execute', 'exec', 'eval', 'run', 'spawn', 'shell', 'bash', 'sh', 'zsh', 'cmd', 'cmds', 'powershell', 'pwsh',
  'python', 'perl', 'ruby', 'subprocess', 'popen', 'sudo', 'script', 'scripts', 'command_line', 'os_command',
  'system_command',
] as const

/** Words that change nothing about such a name when they stand beside it, as in `shell_command`. */
// biome-ignore format: a list of words
export const payloadCompanions = [
  'arg', 'args', 'argument', 'arguments', 'argv', 'body', 'code', 'command', 'commands', 'file', 'inline', 'input',
  'line', 'lines', 'payload', 'snippet', 'source', 'string', 'text', 'this', 'to',
] as const

/** No name is longer. It bounds the time that a match takes. */
const longest = 64

const names = payloadNames.map((name) => [looksLike(name), name] as const)
const either = (forms: readonly string[]) => forms.join('|')
const named = either(names.map(([form]) => form))
const beside = either(payloadCompanions.map(looksLike))
const whole = new RegExp(`^(?:${beside})*(${named})(?:${named}|${beside})*$`, 'u')

/** The name that a key comes to, if it carries something to execute; null if it does not. Numbers at its end do not count. */
export function payloadName(key: string): string | null {
  const form = looksLike(key)
  const found = matched(form) ?? matched(looksLike(withoutInvisible(key).replace(/[\p{N}\p{P}\p{Z}]+$/u, '')))
  return found === undefined ? null : (names.find(([name]) => name === found)?.[1] ?? null)
}

function matched(form: string): string | undefined {
  return form.length > longest ? undefined : (whole.exec(form)?.[1] ?? undefined)
}
