/**
 * A way to write a path. `same`: RFC 3986 says that it is the same path, so the
 * answer has to be the same. `other`: it is another path, which only some
 * parsers take for this one; no route may answer to it.
 */
export interface Spelling {
  readonly how: string
  readonly target: string
  readonly kind: 'same' | 'other'
}

const hex = (char: string) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`
const isUnreserved = (char: string) => /[\w.~-]/.test(char)

/** Every spelling of a path that begins with a slash. `host` is the name that the server answers to. */
export function spellingsOf(path: string, host: string): readonly Spelling[] {
  return [...sameAs(path), ...otherThan(path, host)].filter(({ target }) => target !== path)
}

function sameAs(path: string): readonly Spelling[] {
  const chars = [...path]
  const encoded = (isChosen: (place: number) => boolean, write = hex) =>
    chars.map((char, i) => (isUnreserved(char) && isChosen(i) ? write(char) : char)).join('')
  const letters = chars.flatMap((char, i) => (isUnreserved(char) ? [i] : []))
  return [
    ...letters.map((place) =>
      same(
        `letter ${place} encoded`,
        encoded((i) => i === place),
      ),
    ),
    same(
      'all letters encoded',
      encoded(() => true),
    ),
    same(
      'all letters encoded, upper case',
      encoded(
        () => true,
        (char) => hex(char).toUpperCase(),
      ),
    ),
    same(
      'every second letter encoded',
      encoded((i) => i % 2 === 0),
    ),
    same(
      'first letter of each segment encoded',
      encoded((i) => chars[i - 1] === '/'),
    ),
    same(
      'last letter encoded',
      encoded((i) => i === chars.length - 1),
    ),
    same('empty query', `${path}?`),
  ]
}

function same(how: string, target: string): Spelling {
  return { how, target, kind: 'same' }
}

/** Prefixes of a path that a server might cut off: addresses that need no token, and none at all. */
const before = ['x', 's', 's/x', 'index.html', 'healthz', 'assets', 'inbox', 'audit', '%61udit', 'api']
const up = ['..', '%2e%2e', '%2E.', '.%2e', '..;', '..%00', '%252e%252e', '%c0%ae%c0%ae', '...']

function otherThan(path: string, host: string): readonly Spelling[] {
  const [first = '', ...rest] = path.slice(1).split('/')
  const tail = rest.map((part) => `/${part}`).join('')
  const inner = path.slice(1)
  const one = inner[0] ?? 'a'
  const suffixes = {
    'trailing slash': '/',
    'two trailing slashes': '//',
    'trailing dot segment': '/.',
    'trailing parent segment': '/x/..',
    'trailing encoded slash': '%2f',
    'trailing encoded slash, upper case': '%2F',
    'trailing backslash': '\\',
    'trailing encoded backslash': '%5c',
    'trailing dot': '.',
    'trailing blank': '%20',
    'trailing tab': '%09',
    'trailing line break': '%0d%0a',
    'trailing NUL': '%00',
    'file name behind NUL': '%00.js',
    'file ending': '.js',
    'style ending': '.css',
    'page behind it': '/index.html',
    'icon behind it': '/icon.svg',
    'path parameter': ';a=b',
    'session parameter': ';jsessionid=1',
    'empty parameter': ';',
    'parameter with a file ending': ';.js',
    'encoded parameter': '%3ba=b',
    'encoded query': '%3fa=b',
    'encoded fragment': '%23a',
    'zero width space': '%E2%80%8B',
    'byte order mark': '%EF%BB%BF',
    'right to left mark': '%E2%80%AE',
    'half a percent': '%',
    'half an escape': '%6',
    'no escape': '%zz',
    'unicode escape': '%u0061',
    'broken UTF-8': '%ff',
    plus: '+',
    tilde: '~',
    asterisk: '*',
    comma: ',',
    fragment: '#a',
    'fragment with a query': '#?a',
  }
  const listed: Record<string, string> = {
    ...Object.fromEntries(Object.entries(suffixes).map(([how, suffix]) => [how, path + suffix])),
    'double percent': `/%25${hex(one).slice(1)}${inner.slice(1)}`,
    'triple percent': `/%2525${hex(one).slice(1)}${inner.slice(1)}`,
    'all double percent': `/${[...inner].map((char) => (isUnreserved(char) ? `%25${hex(char).slice(1)}` : char)).join('')}`,
    'upper case': `/${first.toUpperCase()}${tail}`,
    capital: `/${one.toUpperCase()}${inner.slice(1)}`,
    'upper case, encoded': `/${hex(one.toUpperCase())}${inner.slice(1)}`,
    'two slashes before': `/${path}`,
    'three slashes before': `//${path}`,
    'two slashes within': `/${first}/${tail === '' ? '/' : tail}`,
    'two slashes at the end of the path': path.replace(/\/([^/]*)$/, '//$1'),
    'host as first segments': `//${host}${path}`,
    'dot segment before': `/.${path}`,
    'encoded dot segment before': `/%2e${path}`,
    'dot segment within': `/${first}/.${tail === '' ? '/' : tail}`,
    'parameter within': `/${first};a=b${tail === '' ? ';' : tail}`,
    'parameter before': `/;${path}`,
    'NUL before': `/%00${inner}`,
    'blank before': `/%20${inner}`,
    'tab before': `/%09${inner}`,
    'line break before': `/%0d%0a${inner}`,
    'backslash before': `/\\${inner}`,
    'backslash first': `\\${inner}`,
    'encoded backslash before': `/%5c${inner}`,
    'encoded slash before': `/%2f${inner}`,
    'encoded first slash': `%2f${inner}`,
    'backslashes for slashes': `/${inner.replaceAll('/', '\\')}${inner.includes('/') ? '' : '\\'}`,
    'encoded backslashes for slashes': `/${inner.replaceAll('/', '%5c')}${inner.includes('/') ? '' : '%5c'}`,
    'encoded slashes for slashes': `/${inner.replaceAll('/', '%2f')}${inner.includes('/') ? '' : '%2f'}`,
    'double encoded slashes': `/${inner.replaceAll('/', '%252f')}${inner.includes('/') ? '' : '%252f'}`,
    'fullwidth letter': `/%EF%BD%81${inner.slice(1)}`,
    'fullwidth slash': `/%EF%BC%8F${inner}`,
    'Cyrillic letter': `/%D0%B0${inner.slice(1)}`,
    'raw UTF-8 letter': `/\u00d0\u00b0${inner.slice(1)}`,
    'overlong letter': `/%C1%A1${inner.slice(1)}`,
    'overlong slash': `/%C0%AF${inner}`,
    'IIS escape': `/%u0061${inner.slice(1)}`,
    'HTML escape': `/&#97;${inner.slice(1)}`,
    'combining mark': `/${one}%CC%81${inner.slice(1)}`,
    'absolute form': `http://${host}${path}`,
    'absolute form of another host': `http://evil.example${path}`,
    'absolute form with TLS': `https://${host}${path}`,
    'absolute form in capitals': `HTTP://${host}${path}`,
    'absolute form with a query before the path': `http://${host}?x${path}`,
    'absolute form with a user': `http://a@${host}${path}`,
    'absolute form without a host': `http://${path}`,
    'scheme without a host': `http:${path}`,
    'other scheme': `ftp://${host}${path}`,
    'authority form': `${host}${path}`,
    'no slash': inner === '' ? 'x' : inner,
    'query before the path': `?${path}`,
    'asterisk alone': '*',
  }
  const climbs = before.flatMap((place) =>
    up.map(
      (dots) => [`${dots} after ${place}`, `/${place}${place.includes('/') ? `/${dots}` : ''}/${dots}${path}`] as const,
    ),
  )
  const encodedClimbs = before.map(
    (place) => [`encoded climb after ${place}`, `/${place}/..%2f..${path.replaceAll('/', '%2f')}`] as const,
  )
  return [...Object.entries(listed), ...climbs, ...encodedClimbs].map(([how, target]) => ({
    how,
    target,
    kind: 'other',
  }))
}
