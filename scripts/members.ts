import { childrenOf, createModules, type Found, type Module, type Node, namesIn } from './modules.ts'

const members = ['TSPropertySignature', 'TSMethodSignature', 'PropertyDefinition', 'MethodDefinition']

/**
 * Members of public types that have no TSDoc directly above them, each as `file:line Type.member`. A public type is one
 * that an entry point exports, or that such a type extends or contains by `&`. Two members need none: one whose type is a
 * single literal, which tells the cases of a union apart, and the constructor. A case of a union may be documented whole,
 * and so are a member and an alias on one line.
 */
export function undocumentedMembers(entries: readonly string[]): readonly string[] {
  const { load, find, resolve } = createModules({ declarations: false })
  const exported = entries.flatMap((file) => [...load(file).exported.keys()].flatMap((name) => find(file, name) ?? []))
  const types = new Map<string, Found>()
  for (const found of exported) types.set(`${found.module.file} ${found.name}`, found)
  for (const { module, nodes } of types.values())
    for (const name of nodes.flatMap(basesOf).flatMap((node) => namesIn(node))) {
      const base = name.isValue ? undefined : resolve(module, name)
      if (base !== undefined) types.set(`${base.module.file} ${base.name}`, base)
    }
  return [...types.values()]
    .flatMap(({ module, name, nodes }) => nodes.flatMap((node) => bare(module, name, node)))
    .toSorted()
}

/** The types whose members a type includes. */
function basesOf(node: Node): readonly Node[] {
  const isAlias = node.type === 'TSTypeAliasDeclaration'
  const type = node.typeAnnotation as Node
  if (isAlias) return type.type === 'TSIntersectionType' ? (type.types as readonly Node[]) : []
  return node.type === 'TSInterfaceDeclaration' ? (node.extends as readonly Node[]) : []
}

function bare(module: Module, of: string, node: Node): readonly string[] {
  if (!/^(?:TSInterface|TSTypeAlias|Class)Declaration$/.test(node.type)) return []
  const found: string[] = []
  const walk = (at: Node, isCovered: boolean) => {
    const isMember = members.includes(at.type)
    // A comment above the first case of a union is about that case.
    const covered = isDocumented(module, at) && !isMember && at.type !== 'TSUnionType'
    if (isMember && !isCovered && !isDocumented(module, at) && !needsNone(at)) {
      const line = module.text.slice(0, at.start).split('\n').length
      found.push(`${module.file}:${line} ${of}.${String((at.key as { name?: unknown }).name)}`)
    }
    // The body of a method is code, and its parameters are described above it.
    if (at.type === 'MethodDefinition' || at.type === 'TSMethodSignature' || at.type === 'TSFunctionType') return
    // A member on one line describes its own members, too. An argument of a type is no part of it.
    if (isMember && !module.text.slice(at.start, at.end).includes('\n')) return
    if (at.type === 'TSTypeParameterInstantiation') return
    for (const child of childrenOf(at)) walk(child, covered || (isCovered && child.type !== 'TSTypeAnnotation'))
  }
  const isOneLine = node.type === 'TSTypeAliasDeclaration' && !module.text.slice(node.start, node.end).includes('\n')
  if (!isOneLine) for (const child of childrenOf(node)) walk(child, false)
  return found
}

function needsNone({ key, computed, typeAnnotation, override, kind, accessibility }: Node): boolean {
  const type = (typeAnnotation as Node | null)?.typeAnnotation as Node | undefined
  const isHidden = accessibility === 'private' || (key as Node).type === 'PrivateIdentifier'
  return isHidden || computed === true || override === true || kind === 'constructor' || type?.type === 'TSLiteralType'
}

function isDocumented({ text, comments }: Module, { start }: Node): boolean {
  return comments.some(
    ({ value, end }) => value.startsWith('*') && end <= start && /^[\s|]*$/.test(text.slice(end, start)),
  )
}
