import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { consoleAddresses } from '../wire/console-addresses.ts'

interface Page {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
  /** Its name changes with its content. */
  readonly isHashed: boolean
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

/** Every file of a folder, read once: no request chooses a path on the disk. */
export function readPages(folder: string | undefined): ReadonlyMap<string, Page> {
  if (folder === undefined || !existsSync(folder)) return new Map()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  return new Map(
    files.flatMap((file) => {
      const path = join(file.parentPath, file.name)
      const name = path.slice(folder.length).replaceAll('\\', '/').replace(/^\/*/, '/')
      const type = types[extname(file.name)]
      if (type === undefined) return []
      const bytes = readFileSync(path)
      const etag = `"${hash('sha256', bytes).slice(0, 32)}"`
      return [[name, { bytes, type, etag, isHashed: /[-.][\w-]{8,}\.\w+$/.test(file.name) }] as const]
    }),
  )
}

/** A route for each file under its own name, and for each address of the console with its first page. */
export function pageRoutes(pages: ReadonlyMap<string, Page>): readonly (readonly [string, Page])[] {
  const first = pages.get('/index.html')
  const addresses = first === undefined ? [] : consoleAddresses.map((address) => [address, first] as const)
  return [...pages, ...addresses]
}
