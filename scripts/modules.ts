import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'vite'

/** A node of a syntax tree. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** One source or declaration file, with its declarations and the origin of its names. */
export interface Module {
  readonly file: string
  readonly text: string
  readonly comments: readonly { readonly value: string; readonly start: number; readonly end: number }[]
  /** Statements by the name that they declare; functions may have several. */
  readonly declared: ReadonlyMap<string, readonly Node[]>
  /** Names from elsewhere, by their local name. `*` stands for the whole module. */
  readonly imported: ReadonlyMap<string, { readonly from: string; readonly name: string }>
  /** Exported names. `from` is null for what the file declares itself. */
  readonly exported: ReadonlyMap<string, { readonly from: string | null; readonly name: string }>
}

/** A declaration that a name leads to. */
export interface Found {
  readonly module: Module
  readonly name: string
  readonly nodes: readonly Node[]
}

/** A name in a type. `from` is a relative path in `import('…').name`; `isValue` says that it stands behind `typeof`. */
export interface Named {
  readonly name: string
  readonly member?: string
  readonly from?: string
  readonly isValue: boolean
}

/** Reads files on demand and follows names through their imports. Packages are not followed. */
export function createModules(options: { readonly declarations: boolean }) {
  const modules = new Map<string, Module>()
  function load(file: string): Module {
    const known = modules.get(file) ?? readModule(file)
    modules.set(file, known)
    return known
  }
  const target = (file: string, from: string) =>
    join(dirname(file), options.declarations ? from.replace(/\.[jt]s$/, '.d.ts') : from)

  /** The declaration of an exported or local name, if it is ours. */
  function find(file: string, name: string): Found | undefined {
    const module = load(file)
    const elsewhere = module.exported.get(name)
    if (elsewhere?.from?.startsWith('.')) return find(target(file, elsewhere.from), elsewhere.name)
    const local = elsewhere?.name ?? name
    const origin = module.imported.get(local)
    if (origin?.from.startsWith('.')) return find(target(file, origin.from), origin.name)
    const nodes = module.declared.get(local)
    return nodes && { module, name: local, nodes }
  }

  /** The declaration that a name in a type of `module` leads to, if it is ours. */
  function resolve(module: Module, { name, member, from }: Named): Found | undefined {
    if (from !== undefined) return from.startsWith('.') ? find(target(module.file, from), name) : undefined
    const origin = module.imported.get(name)
    if (origin?.name === '*')
      return origin.from.startsWith('.') ? find(target(module.file, origin.from), member ?? '') : undefined
    return find(module.file, name)
  }
  return { load, find, resolve }
}

function readModule(file: string): Module {
  const text = readFileSync(file, 'utf8')
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const declared = new Map<string, readonly Node[]>()
  const imported = new Map<string, { from: string; name: string }>()
  const exported = new Map<string, { from: string | null; name: string }>()
  for (const statement of program.body as unknown[] as Node[]) {
    const from = (statement.source as { value?: string } | null)?.value ?? null
    for (const each of (statement.specifiers ?? []) as Node[])
      if (statement.type === 'ImportDeclaration')
        imported.set(nameOf(each.local), {
          from: from ?? '',
          name: each.type === 'ImportNamespaceSpecifier' ? '*' : nameOf(each.imported),
        })
      else exported.set(nameOf(each.exported), { from, name: nameOf(each.local) })
    const own = (statement.declaration ?? statement) as Node
    for (const { id } of (own.declarations ?? [own]) as Node[]) {
      const name = nameOf(id)
      if (name === '') continue
      declared.set(name, [...(declared.get(name) ?? []), own])
      if (own !== statement) exported.set(name, { from: null, name })
    }
  }
  return { file, text, comments, declared, imported, exported }
}

const nameOf = (node: unknown): string => String((node as { name?: unknown } | null | undefined)?.name ?? '')

/** The nodes right below a node. */
export function childrenOf(node: Node): readonly Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof (value as Node | null)?.type === 'string')
}

/** Every type that a node names, but no member, no parameter and no type parameter. */
export function namesIn(node: Node): readonly Named[] {
  const bound = new Set<string>()
  const named: Named[] = []
  const split = (target: Node, isValue: boolean): Named =>
    target.type === 'Identifier'
      ? { name: nameOf(target), isValue }
      : { name: nameOf(target.left ?? target.object), member: nameOf(target.right ?? target.property), isValue }
  const walk = (at: Node, isQuery = false): void => {
    if (at.type === 'TSTypeParameter') bound.add(nameOf(at.name))
    if (at.type === 'TSMappedType') bound.add(nameOf(at.key))
    if (at.type === 'TSTypeReference') named.push(split(at.typeName as Node, false))
    if (at.type === 'TSInterfaceHeritage' || at.type === 'TSClassImplements')
      named.push(split(at.expression as Node, false))
    if (at.type === 'ClassDeclaration' && at.superClass !== null) named.push(split(at.superClass as Node, false))
    if (at.type === 'TSImportType')
      named.push({
        name: nameOf(at.qualifier),
        from: String((at.source as { value?: unknown }).value),
        isValue: isQuery,
      })
    const query = at.type === 'TSTypeQuery' ? (at.exprName as Node) : undefined
    if (query !== undefined && query.type !== 'TSImportType') named.push(split(query, true))
    for (const child of childrenOf(at)) walk(child, child === query)
  }
  walk(node)
  return named.filter(({ name, from }) => name !== '' && (from !== undefined || !bound.has(name)))
}
