import { faults } from '../../faults/catalogue.ts'

/** The parts of the address of a store. One that cannot be read is refused, and not shown: it may hold a password. */
export function readAddress(url: string): URL {
  if (URL.canParse(url)) return new URL(url)
  throw faults.bad_usage({
    problem:
      'The address of the PostgreSQL store cannot be read. Check its host and port, and percent-encode what is neither a letter nor a digit in user and password.',
    usage: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  })
}
