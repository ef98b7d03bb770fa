/** The name of a store for people: never with a password. */
export function shownStore(store: string): string {
  if (!/^postgres(ql)?:/.test(store) || !URL.canParse(store)) return store
  const address = new URL(store)
  if (address.password === '' && !address.searchParams.has('password')) return store
  address.password = ''
  address.searchParams.delete('password')
  return address.href
}
