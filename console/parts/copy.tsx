import { useState } from 'react'
import { useKeys } from './keys.tsx'

/** Copies text; false if the browser refuses. */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** Puts a text on the clipboard and says so. */
export function Copy({ text, label, title }: { text: string; label: string; title?: string }) {
  const [said, setSaid] = useState('')
  const copy = async () => setSaid((await toClipboard(text)) ? 'copied' : 'the browser refused; select it by hand')
  return (
    <button type="button" className="quiet" onClick={copy} onBlur={() => setSaid('')} title={title ?? text}>
      {said === '' ? label : said}
      <span className="unseen" role="status">
        {said}
      </span>
    </button>
  )
}

/** The command that does the same in a terminal. Each page has one. */
export function CopyCommand({ command }: { command: string }) {
  useKeys({ c: { says: 'copy the command that shows this in a terminal', does: () => void toClipboard(command) } })
  return (
    <span className="command">
      <code>{command}</code>
      <Copy text={command} label="copy" title="Copy the command that shows this in a terminal (c)" />
    </span>
  )
}
