import { faults } from '../faults/catalogue.ts'
import { shownStore } from '../kernel/printable.ts'

/** The store that a URL names. */
type StorePlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres' }

/** Reads a store URL: `sqlite:FILE`, `postgres://…` or `memory:`. Refuses every other one. */
export function parseStoreUrl(url: string): StorePlace {
  if (url === 'memory:') return { kind: 'memory' }
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgres' }
  if (!url.startsWith('sqlite:')) throw unsupported(url)
  const path = url.slice('sqlite:'.length)
  // Some tools read sqlite://x as a relative path, others as an absolute one or as a host.
  if (path.startsWith('//'))
    throw unsupported(url, 'Write the path without "//": sqlite:./file.db or sqlite:/folder/file.db.')
  return { kind: 'sqlite', path }
}

function unsupported(url: string, hint = 'Use sqlite:./file.db, postgres://HOST/DATABASE or memory:.') {
  return faults.store_unusable({
    store: shownStore(url).slice(0, 200),
    problem: `it is not a supported store URL. ${hint}`,
  })
}
