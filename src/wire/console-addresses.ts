/** Every address of the console. The server answers these, and no others, with its first page. */
export const consoleAddresses = [
  '/',
  '/sessions',
  '/s/:id',
  '/s/:id/replay',
  '/inbox',
  '/inbox/:id',
  '/c/:id',
  '/p',
  '/p/:id',
  '/goals',
  '/g/:id',
  '/machines',
  '/machines/:name',
  '/audit',
  '/audit/:id',
] as const

/** One address of the console. */
export type ConsoleAddress = (typeof consoleAddresses)[number]
