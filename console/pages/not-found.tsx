import { Link } from '../parts/link.tsx'

/** The page for what does not exist. */
export function NotFound({ what }: { what: string }) {
  return (
    <div className="empty">
      <h1>There is nothing at {what}</h1>
      <p>
        Paste an id into the box above, or begin with the <Link href="/">sessions</Link>.
      </p>
    </div>
  )
}
