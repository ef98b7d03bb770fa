import { expect, test } from 'vitest'
import { escapedProps } from '../../console/escaping/escaped-props.ts'
import { printable, printableJson } from '../../src/kernel/printable.ts'

const iban = 'DE\u202e98 7654\u202c 3210'

test('F-90 printable: characters that turn text around or cannot be seen are written as escapes', () => {
  expect(printable(iban)).toBe('DE\\u{202e}98 7654\\u{202c} 3210')
  const hidden = [
    '\u200b',
    '\u2066',
    '\ufeff',
    '\u00ad',
    '\u034f',
    '\u115f',
    '\u3164',
    '\u2800',
    '\u{e0041}',
    '\u{e0101}',
    '\u2028',
    '\u009b',
    '\u001b',
    '\r',
  ]
  for (const character of hidden) {
    expect(printable(`a${character}b`)).toBe(`a\\u{${character.codePointAt(0)?.toString(16)}}b`)
    expect(JSON.parse(printableJson({ [character]: character }))).toEqual({ [character]: character })
    expect(printable(printableJson([character]))).toBe(printableJson([character]))
  }
})

test('F-90 printable: ordinary text is unchanged', () => {
  for (const text of ['Grüße, 你好, שלום, مرحبا', 'b\nc', '❤️ 🏳️ 1️⃣', 'é', '']) expect(printable(text)).toBe(text)
})

test('F-90 console: every text that an element shows is escaped, and the value that it sends back is not', () => {
  const props = {
    children: ['to ', iban, 1, null, { type: 'b' }],
    title: iban,
    placeholder: iban,
    'aria-label': iban,
    value: iban,
    href: '/x',
  }
  const shown = 'DE\\u{202e}98 7654\\u{202c} 3210'
  expect(escapedProps('p', props)).toEqual({
    ...props,
    children: ['to ', shown, 1, null, { type: 'b' }],
    title: shown,
    placeholder: shown,
    'aria-label': shown,
  })
  expect(escapedProps('pre', { children: iban })).toEqual({ children: shown })
  // A component passes its properties on to elements, where they are escaped.
  const component = () => null
  expect(escapedProps(component, props)).toBe(props)
  const plain = { children: 'plain\ttext' }
  expect(escapedProps('p', plain)).toBe(plain)
})
