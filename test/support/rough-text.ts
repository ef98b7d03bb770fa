import fc from 'fast-check'

/** Text as it comes from models and tools: also with half characters, quotes, control characters and braces. */
export const roughText = (constraints: fc.StringConstraints = {}) =>
  fc.string({
    unit: fc.constantFrom('a', 'Z', '0', ' ', '\n', '\u0000', '"', '\\', '{', '}', '[', ':', '€', '\ud83d', '\ude00'),
    ...constraints,
  })
