import { expect, test } from 'vitest'
import { parseMermaid, readLabel } from './mermaid.ts'

test('mermaid: beginnings, endings and labelled arrows are read', () => {
  const text = 'stateDiagram-v2\n  [*] --> a\n\n  a --> b : go\n  a --> c: Go on\n  b --> [*]'
  expect(parseMermaid(text)).toEqual({
    initial: ['a'],
    terminal: ['b'],
    arrows: [
      { line: 4, from: 'a', to: 'b', label: 'go' },
      { line: 5, from: 'a', to: 'c', label: 'Go on' },
    ],
  })
})

test.each([
  ['a --> b', 2],
  ['a -> b : go', 2],
  ['a --> b : ', 2],
  ['[*] --> a : born', 2],
  ['note right of a', 2],
  ['state a {', 2],
  ['stateDiagram-v2', 2],
])('mermaid: %s is an error that names its line', (line, number) => {
  expect(() => parseMermaid(`stateDiagram-v2\n${line}`)).toThrow(`line ${number} is not understood: ${line}`)
})

test('mermaid: a text that does not begin as a state diagram is an error', () => {
  expect(() => parseMermaid('graph TD')).toThrow('line 1')
})

test('mermaid: a label is one trigger or several, with a guard in parentheses or several in brackets', () => {
  const read = (label: string) => readLabel({ line: 7, from: 'a', to: 'b', label })
  expect(read('kill(force)')).toEqual([{ trigger: 'kill', guards: ['force'] }])
  expect(read('interrupt / steer')).toEqual([
    { trigger: 'interrupt', guards: [] },
    { trigger: 'steer', guards: [] },
  ])
  expect(read('run.canceled [x, y]')).toEqual([{ trigger: 'run.canceled', guards: ['x', 'y'] }])
  expect(() => read('Go on')).toThrow('line 7 has a label not understood: Go on')
  expect(() => read('go(on')).toThrow('line 7')
})
