/**
 * A tool throws this when it knows that its action did not happen: the call has failed, and may be made again. Any
 * other error of an irreversible tool leaves its outcome unknown.
 *
 * The runtime reads the mark and not the class, so an error of another copy of this package counts, and so does any
 * error that carries `did_not_happen: true`.
 */
export class DidNotHappen extends Error {
  override readonly name = 'DidNotHappen'
  // biome-ignore lint/style/useNamingConvention: the mark is read by its name, also on errors of other classes
  readonly did_not_happen = true
}
